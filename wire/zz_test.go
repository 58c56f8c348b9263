package wire_test
import ("testing";"github.com/zlink/zlink-nats/wire")
func BenchmarkZ(b *testing.B) {
	d := sampleDescriptor("n1")
	nm := d; nm.ChannelWeights = map[string]uint32{}
	data,_ := wire.Marshal(wire.CBOR,&d)
	datan,_ := wire.Marshal(wire.CBOR,&nm)
	m := strictCBOR(b)
	e := coreCBOR(b)
	b.Run("ours",func(b *testing.B){ b.ReportAllocs(); for b.Loop() { var g wire.MeshNodeDescriptor; if err:=wire.Unmarshal(wire.CBOR,data,&g);err!=nil{b.Fatal(err)}}})
	b.Run("oursNoMap",func(b *testing.B){ b.ReportAllocs(); for b.Loop() { var g wire.MeshNodeDescriptor; if err:=wire.Unmarshal(wire.CBOR,datan,&g);err!=nil{b.Fatal(err)}}})
	b.Run("fx",func(b *testing.B){ b.ReportAllocs(); for b.Loop() { var g wire.MeshNodeDescriptor; if err:=m.Unmarshal(data,&g);err!=nil{b.Fatal(err)}}})
	b.Run("oursM",func(b *testing.B){ b.ReportAllocs(); for b.Loop() { wire.Marshal(wire.CBOR,&d)}})
	b.Run("oursMNoMap",func(b *testing.B){ b.ReportAllocs(); for b.Loop() { wire.Marshal(wire.CBOR,&nm)}})
	b.Run("fxM",func(b *testing.B){ b.ReportAllocs(); for b.Loop() { e.Marshal(&d)}})
}
