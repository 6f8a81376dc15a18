"""Records of Protobuf: (case, message). The messages are compiled from the files in `protos`."""

import importlib
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).parent / "protos"


def run_protoc(folder, *arguments):
    """Compiles files of a folder. Messages that come with every registry are found besides."""
    import google.type
    from confluent_kafka.schema_registry.confluent import meta_pb2
    from confluent_kafka.schema_registry.confluent.type import decimal_pb2
    from google.protobuf import descriptor_pb2
    from grpc_tools import protoc

    known = descriptor_pb2.FileDescriptorSet()
    for module in (descriptor_pb2, meta_pb2, decimal_pb2):
        module.DESCRIPTOR.CopyToProto(known.file.add())
    described = pathlib.Path(tempfile.mkdtemp()) / "known"
    described.write_bytes(known.SerializeToString())
    own = pathlib.Path(protoc.__file__).parent / "_proto"
    above = pathlib.Path(list(google.type.__path__)[0]).parent.parent
    paths = [f"-I{path}" for path in (folder, own, above)]
    if protoc.main(["protoc", *paths, f"--descriptor_set_in={described}", *arguments]) != 0:
        sys.exit("protoc could not compile the messages")


def compiled():
    """Compiles the files into a folder of its own and gives the modules."""
    import confluent_kafka.schema_registry.confluent as confluent

    out = tempfile.mkdtemp()
    files = sorted(str(path) for path in HERE.glob("*.proto"))
    run_protoc(HERE, f"--python_out={out}", *files)
    # What was compiled imports Confluent's messages by the name confluent.type.
    sys.path[:0] = [out, str(pathlib.Path(list(confluent.__path__)[0]).parent)]
    return [importlib.import_module(f"{pathlib.Path(file).stem}_pb2") for file in files]


def cases():
    everything, old, place = compiled()
    from confluent.type.decimal_pb2 import Decimal
    from google.protobuf.timestamp_pb2 import Timestamp
    from google.type.date_pb2 import Date
    from google.type.timeofday_pb2 import TimeOfDay

    Place, Order, Known, Tree = place.Place, everything.Order, everything.Known, everything.Tree
    known = Known(
        at=Timestamp(seconds=1700000000, nanos=123456789),
        day=Date(year=1969, month=12, day=31),
        time=TimeOfDay(hours=23, minutes=59, seconds=59, nanos=999000000),
        amount=Decimal(value=b"\xfb\x2e", precision=9, scale=2),
    )
    known.text.value = "t"
    known.number.value = 0
    known.large.value = -1
    known.ok.value = False
    known.ratio.value = 0.5
    known.raw.value = b"\xff"
    order = Order(
        place=Place(city="Bern", kind=Place.SHOP),
        kind=Place.STORE,
        numbers=[1, -1, 0],
        words=["a", ""],
        places=[Place(city="Ulm"), Place()],
        counts={"a": 1, "": 2},
        card="4711",
        lines=[Order.Line(item="pen", note=Order.Line.Note(text="blue")), Order.Line()],
    )
    order.by_number[-5].city = "Rom"
    return [
        (
            "scalars",
            everything.Scalars(
                i32=-(2**31), i64=-(2**63), u32=2**32 - 1, u64=2**63, s32=-1, s64=-2, f32=2**32 - 1, f64=3,
                sf32=-4, sf64=-5, fl=1.5, db=-1e308, ok=True, text="Grüße 🐈", raw=b"\x00\xff", maybe=0, word="",
            ),
        ),
        ("unset scalars", everything.Scalars()),
        ("order", order),
        ("order in cash", Order(cash=0)),
        ("order at a place", Order(at=Place(city="Lund"))),
        ("known", known),
        ("known unset", Known()),
        ("tree", Tree(name="a", children=[Tree(name="b"), Tree(name="c", children=[Tree(name="d")])])),
        ("nested message", Order.Line.Note(text="deep")),
        ("imported message", Place(city="Bern", kind=Place.STORE)),
        ("proto2", old.Old(id=1, name="n", n=2, packed=[1, 2], loose=[3, 4], level=old.Old.LOW)),
        ("proto2 unset", old.Old(id=0)),
    ]
