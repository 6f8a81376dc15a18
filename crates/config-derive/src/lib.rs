//! `#[derive(Config)]`: a struct as the definition of its configuration.
//!
//! Each field is a key: its doc comment is the documentation, its type the type, and
//! `#[config(…)]` says the rest. Fields:
//!
//! - `key = "insert.mode"` (the field's name with dots if absent), `default = "insert"` (any
//!   literal), `importance = high|medium|low`, `group = "Writes"`, `order = 3`,
//!   `width = short|medium|long`, `display = "Insert mode"`, `since = "0.1"`;
//! - `one_of("a", "b")`, `case_insensitive`, `range(0, 100)`, `at_least(1)`, `at_most(5)`,
//!   `non_empty`, `regex`, `repeats` (a list may repeat items), `validator = EXPRESSION`;
//! - `class` (the key names a plugin), `recommended("a")`, `dependents("b.c")`;
//! - `flatten`: the field is another such struct, whose keys are taken in here.
//!
//! The struct itself: `group = "…"` (the default group), `importance = …`, and `check = path`, a
//! `fn(&Self) -> Vec<ConfigError>` that runs when every key is right.
//!
//! A field without `default` is required, unless its type is an `Option`.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, Fields, Ident, Lit, LitStr, Meta, Result, Token,
    parenthesized,
};

/// Implements `config::Config` for a struct with named fields.
#[proc_macro_derive(Config, attributes(config))]
pub fn derive_config(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// One item of `#[config(…)]`: a flag, `name = expression` or `name(expressions)`.
struct Item {
    name: Ident,
    values: Vec<Expr>,
}

impl Parse for Item {
    fn parse(input: ParseStream<'_>) -> Result<Item> {
        let name: Ident = input.parse()?;
        let values = if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            vec![input.parse()?]
        } else if input.peek(syn::token::Paren) {
            let inner;
            parenthesized!(inner in input);
            Punctuated::<Expr, Token![,]>::parse_terminated(&inner)?.into_iter().collect()
        } else {
            Vec::new()
        };
        Ok(Item { name, values })
    }
}

/// The items of all `#[config(…)]` attributes, taken out one by one; what is left is unknown.
struct Items(Vec<Item>);

impl Items {
    fn of(attributes: &[Attribute]) -> Result<Items> {
        let mut items = Vec::new();
        for attribute in attributes.iter().filter(|a| a.path().is_ident("config")) {
            let list = Punctuated::<Item, Token![,]>::parse_terminated;
            items.extend(attribute.parse_args_with(list)?);
        }
        Ok(Items(items))
    }

    fn take(&mut self, name: &str) -> Option<Item> {
        let at = self.0.iter().position(|item| item.name == name)?;
        Some(self.0.remove(at))
    }

    fn flag(&mut self, name: &str) -> Result<bool> {
        match self.take(name) {
            None => Ok(false),
            Some(item) if item.values.is_empty() => Ok(true),
            Some(item) => Err(Error::new(item.name.span(), format!("`{name}` takes no value"))),
        }
    }

    fn value(&mut self, name: &str) -> Result<Option<Expr>> {
        let Some(mut item) = self.take(name) else { return Ok(None) };
        match (item.values.pop(), item.values.is_empty()) {
            (Some(value), true) => Ok(Some(value)),
            _ => Err(Error::new(item.name.span(), format!("`{name}` takes one value"))),
        }
    }

    fn text(&mut self, name: &str) -> Result<Option<LitStr>> {
        match self.value(name)? {
            None => Ok(None),
            Some(Expr::Lit(syn::ExprLit { lit: Lit::Str(text), .. })) => Ok(Some(text)),
            Some(other) => Err(Error::new_spanned(other, format!("`{name}` takes a text"))),
        }
    }

    /// `name = word`, where the word is the lower-case name of a variant of `::config::owner`.
    fn variant(&mut self, name: &str, owner: &str, words: &[&str]) -> Result<Option<TokenStream>> {
        let Some(value) = self.value(name)? else { return Ok(None) };
        let word = match &value {
            Expr::Path(path) => path.path.get_ident().map(Ident::to_string),
            _ => None,
        };
        let Some(word) = word.filter(|word| words.contains(&word.as_str())) else {
            return Err(Error::new_spanned(value, format!("one of: {}", words.join(", "))));
        };
        let (first, rest) = word.split_at(1);
        let variant = Ident::new(&format!("{}{rest}", first.to_uppercase()), Span::call_site());
        let owner = Ident::new(owner, Span::call_site());
        Ok(Some(quote!(::config::#owner::#variant)))
    }

    fn importance(&mut self) -> Result<Option<TokenStream>> {
        self.variant("importance", "Importance", &["high", "medium", "low"])
    }

    fn values(&mut self, name: &str) -> Vec<Expr> {
        self.take(name).map(|item| item.values).unwrap_or_default()
    }

    fn finish(self) -> Result<()> {
        match self.0.first() {
            None => Ok(()),
            Some(item) => {
                Err(Error::new(item.name.span(), format!("unknown option `{}`", item.name)))
            }
        }
    }
}

/// What the struct itself says.
struct Container {
    group: Option<LitStr>,
    importance: TokenStream,
    check: Option<Expr>,
}

fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let fields = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => &fields.named,
            _ => return Err(Error::new_spanned(input, "Config needs named fields")),
        },
        _ => return Err(Error::new_spanned(input, "Config can only be derived for structs")),
    };
    let mut items = Items::of(&input.attrs)?;
    let container = Container {
        group: items.text("group")?,
        importance: items.importance()?.unwrap_or_else(|| quote!(::config::Importance::Medium)),
        check: items.value("check")?,
    };
    items.finish()?;
    let (mut define, mut read) = (Vec::new(), Vec::new());
    let (mut names, mut variables) = (Vec::new(), Vec::new());
    for (index, field) in fields.iter().enumerate() {
        // Not the field's own name, which could hide a variable of the generated code.
        let variable = Ident::new(&format!("field_{index}"), Span::call_site());
        let (field_define, field_read) = field_code(field, &variable, &container)?;
        define.push(field_define);
        read.push(field_read);
        names.push(field.ident.as_ref());
        variables.push(variable);
    }
    let name = &input.ident;
    let (generics, type_generics, where_clause) = input.generics.split_for_impl();
    let check = container.check.map(|check| {
        quote! {
            let faults: ::std::vec::Vec<::config::ConfigError> = #check(&read);
            if !faults.is_empty() {
                return Err(::config::ConfigErrors { errors: faults });
            }
        }
    });
    Ok(quote! {
        impl #generics ::config::Config for #name #type_generics #where_clause {
            fn def() -> ::config::ConfigDef {
                let mut def = ::config::ConfigDef::new();
                let mut orders = ::config::derived::Orders::default();
                #(#define)*
                let _ = &mut orders;
                def
            }

            fn parse(
                props: &::config::Props,
            ) -> ::std::result::Result<Self, ::config::ConfigErrors> {
                let mut parsed = <Self as ::config::Config>::def().parse(props);
                let mut errors = ::std::mem::take(&mut parsed.errors);
                #(#read)*
                let read = match (#(#variables,)*) {
                    (#(Some(#variables),)*) if errors.is_empty() => {
                        Self { #(#names: #variables),* }
                    }
                    _ => return Err(::config::ConfigErrors { errors }),
                };
                #check
                Ok(read)
            }
        }
    })
}

/// The statements that define a field's key and that read it into a variable of its name.
fn field_code(
    field: &syn::Field,
    variable: &Ident,
    container: &Container,
) -> Result<(TokenStream, TokenStream)> {
    let mut items = Items::of(&field.attrs)?;
    let ident = field.ident.as_ref();
    let kind = &field.ty;
    if items.flag("flatten")? {
        items.finish()?;
        return Ok((
            quote!(def.extend(<#kind as ::config::Config>::def());),
            // The keys are part of this definition, so what is wrong is known already.
            quote! {
                let #variable = match <#kind as ::config::Config>::parse(props) {
                    Ok(inner) => Some(inner),
                    Err(inner) => {
                        ::config::derived::add_new(&mut errors, inner);
                        None
                    }
                };
            },
        ));
    }
    let key = match items.text("key")? {
        Some(key) => key,
        None => {
            let name = ident.map(|ident| ident.to_string().replace('_', "."));
            LitStr::new(&name.unwrap_or_default(), Span::call_site())
        }
    };
    let define = define_code(&mut items, kind, &key, &documentation(&field.attrs), container)?;
    items.finish()?;
    let read = quote! {
        let #variable = ::config::derived::read::<#kind>(&parsed, #key, &mut errors);
    };
    Ok((define, read))
}

fn define_code(
    items: &mut Items,
    kind: &syn::Type,
    key: &LitStr,
    documentation: &str,
    container: &Container,
) -> Result<TokenStream> {
    let default = match items.value("default")? {
        Some(value) => quote!(Some(Some(::std::string::ToString::to_string(&(#value))))),
        None => quote!(if <#kind as ::config::ConfigField>::NULLABLE { Some(None) } else { None }),
    };
    let importance = items.importance()?.unwrap_or_else(|| container.importance.clone());
    let group = match items.text("group")?.or_else(|| container.group.clone()) {
        Some(group) => quote!(Some(#group)),
        None => quote!(None),
    };
    let order = match items.value("order")? {
        Some(order) => quote!(Some(#order)),
        None => quote!(None),
    };
    let width = items
        .variant("width", "Width", &["none", "short", "medium", "long"])?
        .unwrap_or_else(|| quote!(::config::Width::None));
    let display = items.text("display")?.unwrap_or_else(|| key.clone());
    let since = match items.text("since")? {
        Some(since) => quote!(Some(#since.to_owned())),
        None => quote!(None),
    };
    let class = items.flag("class")?;
    let recommended = items.values("recommended");
    let dependents = items.values("dependents");
    let validator = validator_code(items)?;
    Ok(quote! {
        {
            let group: Option<&str> = #group;
            let order: Option<i32> = #order;
            let mut rules = ::config::derived::Rules::default();
            #validator
            def.define(::config::ConfigKey {
                name: #key.to_owned(),
                kind: if #class {
                    ::config::Type::Class
                } else {
                    <#kind as ::config::ConfigField>::KIND
                },
                default: #default,
                importance: #importance,
                group: group.map(str::to_owned),
                order: orders.next(group, order),
                width: #width,
                display_name: #display.to_owned(),
                documentation: #documentation.to_owned(),
                validator: rules.validator::<#kind>(),
                dependents: vec![#(::std::string::ToString::to_string(#dependents)),*],
                recommended: vec![#(::std::string::ToString::to_string(#recommended)),*],
                since: #since,
            });
        }
    })
}

/// Statements that fill `rules`.
fn validator_code(items: &mut Items) -> Result<TokenStream> {
    let mut code = TokenStream::new();
    for (flag, rule) in [
        ("case_insensitive", "any_case"),
        ("non_empty", "non_empty"),
        ("regex", "regex"),
        ("repeats", "repeats"),
    ] {
        if items.flag(flag)? {
            let rule = Ident::new(rule, Span::call_site());
            code.extend(quote!(rules.#rule = true;));
        }
    }
    let one_of = items.values("one_of");
    if !one_of.is_empty() {
        code.extend(quote!(rules.one_of = vec![#(::std::string::ToString::to_string(#one_of)),*];));
    }
    if let Some(item) = items.take("range") {
        let [min, max] = item.values.as_slice() else {
            return Err(Error::new(item.name.span(), "`range` takes two values: range(0, 100)"));
        };
        code.extend(quote!(rules.min = Some((#min).into()); rules.max = Some((#max).into());));
    }
    for (name, rule) in [("at_least", "min"), ("at_most", "max")] {
        if let Some(bound) = items.value(name)? {
            let rule = Ident::new(rule, Span::call_site());
            code.extend(quote!(rules.#rule = Some((#bound).into());));
        }
    }
    if let Some(validator) = items.value("validator")? {
        code.extend(quote!(rules.own = Some(#validator);));
    }
    Ok(code)
}

/// The doc comment: its lines joined by spaces, its paragraphs by blank lines.
fn documentation(attributes: &[Attribute]) -> String {
    let mut text = String::new();
    for attribute in attributes.iter().filter(|a| a.path().is_ident("doc")) {
        let Meta::NameValue(pair) = &attribute.meta else { continue };
        let Expr::Lit(syn::ExprLit { lit: Lit::Str(line), .. }) = &pair.value else { continue };
        let line = line.value();
        match line.trim() {
            "" if !text.is_empty() => text.push_str("\n\n"),
            line => {
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push(' ');
                }
                text.push_str(line);
            }
        }
    }
    text.trim_end().to_owned()
}
