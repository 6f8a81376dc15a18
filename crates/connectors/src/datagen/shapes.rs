//! The records that have a name: our own, and those of Confluent's generator that are built in.
//!
//! Each is a template, the field that is the key, and the name of its schema.

pub(super) struct Shape {
    pub(super) name: &'static str,
    pub(super) schema: &'static str,
    pub(super) key: &'static str,
    pub(super) template: &'static str,
}

pub(super) static OWN: [Shape; 4] = [
    Shape {
        name: "orders",
        schema: "io.copycat.datagen.Order",
        key: "order_id",
        template: r#"{
            "order_id": "${sequence:1}",
            "customer_id": "${int:1:1000}",
            "item": "${choice:anvil,bicycle,candle,drum,easel,fiddle,globe,hammock}",
            "quantity": "${int:1:10}",
            "price": "${float:1:500:2}",
            "status": "${choice:new,paid,shipped,returned}",
            "city": "${city}",
            "ordered_at": "${timestamp}"
        }"#,
    },
    Shape {
        name: "users",
        schema: "io.copycat.datagen.User",
        key: "user_id",
        template: r#"{
            "user_id": "${sequence:1}",
            "name": "${name}",
            "email": "user${sequence:1}@example.com",
            "city": "${city}",
            "active": "${bool:0.9}",
            "registered_at": "${timestamp}"
        }"#,
    },
    Shape {
        name: "clicks",
        schema: "io.copycat.datagen.Click",
        key: "user_id",
        template: r#"{
            "click_id": "${uuid}",
            "user_id": "${int:1:10000}",
            "page": "/${choice:home,search,cart,checkout,help}/${word}",
            "status": "${int:200:204}",
            "duration_ms": "${int:1:3000}",
            "clicked_at": "${timestamp::100}"
        }"#,
    },
    Shape {
        name: "sensors",
        schema: "io.copycat.datagen.Reading",
        key: "sensor_id",
        template: r#"{
            "sensor_id": "sensor-${int:1:100}",
            "temperature": "${float:-20:45:2}",
            "humidity": "${float:0:100:1}",
            "battery": "${float:0:1:3}",
            "ok": "${bool:0.99}",
            "measured_at": "${timestamp::10}"
        }"#,
    },
];

/// By the names that `quickstart` has there.
pub(super) static CONFLUENT: [Shape; 6] = [
    Shape {
        name: "orders",
        schema: "ksql.orders",
        key: "orderid",
        template: r#"{
            "ordertime": "${int:1487715775521:1519273364600}",
            "orderid": "${sequence}",
            "itemid": "Item_${int:1:999}",
            "orderunits": "${float:0.1:10}",
            "address": {
                "city": "City_${int:1:99}",
                "state": "State_${int:1:99}",
                "zipcode": "${int:10000:99999}"
            }
        }"#,
    },
    Shape {
        name: "users",
        schema: "ksql.users",
        key: "userid",
        template: r#"{
            "registertime": "${int:1487715775521:1519273364600}",
            "userid": "User_${int:1:9}",
            "regionid": "Region_${int:1:9}",
            "gender": "${choice:MALE,FEMALE,OTHER}"
        }"#,
    },
    Shape {
        name: "pageviews",
        schema: "ksql.pageviews",
        key: "viewtime",
        template: r#"{
            "viewtime": "${sequence:1:10}",
            "userid": "User_${int:1:9}",
            "pageid": "Page_${int:1:99}"
        }"#,
    },
    Shape {
        name: "ratings",
        schema: "ksql.ratings",
        key: "rating_id",
        template: r#"{
            "rating_id": "${sequence:1}",
            "user_id": "${int:1:20}",
            "stars": "${int:1:5}",
            "route_id": "${int:1:9999}",
            "rating_time": "${sequence:1:12}",
            "channel": "${choice:web,ios,ios-test,android,iOS}",
            "message": "${word} ${word} ${word}"
        }"#,
    },
    Shape {
        name: "stock_trades",
        schema: "ksql.StockTrade",
        key: "symbol",
        template: r#"{
            "side": "${choice:BUY,SELL}",
            "quantity": "${int:1:5000}",
            "symbol": "${choice:ZBZX,ZJZZT,ZTEST,ZVV,ZVZZT,ZWZZT,ZXZZT}",
            "price": "${int:5:1000}",
            "account": "${choice:ABC123,LMN456,XYZ789}",
            "userid": "User_${int:1:9}"
        }"#,
    },
    Shape {
        name: "inventory",
        schema: "ksql.inventory",
        key: "id",
        template: r#"{
            "id": "${sequence:1}",
            "quantity": "${int:1:100}",
            "productid": "${int:1:100}"
        }"#,
    },
];

/// The shape of a name, in any case.
///
/// # Errors
/// There is none: those that there are.
pub(super) fn find(shapes: &'static [Shape], name: &str) -> Result<&'static Shape, String> {
    let name = name.trim();
    let found = shapes.iter().find(|shape| shape.name.eq_ignore_ascii_case(name));
    found.ok_or_else(|| {
        let names: Vec<&str> = shapes.iter().map(|shape| shape.name).collect();
        format!("{name} is not built in; there are {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::super::template::Template;
    use super::*;

    #[test]
    fn every_shape_compiles_and_has_its_key() {
        for shape in OWN.iter().chain(&CONFLUENT) {
            for schema in [true, false] {
                let template = Template::new(shape.template, schema, shape.schema).unwrap();
                assert!(template.position(shape.key).is_some(), "{}", shape.name);
            }
        }
        assert_eq!(find(&OWN, " Users ").unwrap().key, "user_id");
        assert!(find(&OWN, "pageviews").err().unwrap().contains("orders, users"));
    }
}
