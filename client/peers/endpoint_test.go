package peers_test

import (
	"testing"

	"github.com/zlink/zlink-nats/client/peers"
)

var endpoints = []struct{ name, given, want string }{
	{"already normal", "tcp://host:7000", "tcp://host:7000"},
	{"empty", "", ""},
	{"space around it", " \ttcp://host:7000\r\n", "tcp://host:7000"},
	{"scheme in upper case", "TCP://host:7000", "tcp://host:7000"},
	{"host in upper case", "tls://Host.EXAMPLE:7000", "tls://host.example:7000"},
	{"host of letters beyond ASCII", "tcp://BÜCHER:1", "tcp://bücher:1"},
	{"host that is no text", "tcp://H\xff:01", "tcp://h\xff:1"},
	{"leading zeros in the port", "tcp://h:0007000", "tcp://h:7000"},
	{"port of zeros", "tcp://h:000", "tcp://h:0"},
	{"any port", "tcp://*:*", "tcp://*:*"},
	{"port that is no number", "tcp://H:0x1", "tcp://h:0x1"},
	{"no port", "tcp://H", "tcp://h"},
	{"slash at the end", "tcp://h:1/", "tcp://h:1"},
	{"slashes at the end of a path", "ws://h:1/A/b//", "ws://h:1/A/b"},
	{"space before the slash at the end", "tcp://h:01 /", "tcp://h:1"},
	{"path keeps its case", "wss://H:1/Path", "wss://h:1/Path"},
	{"query keeps its slash", "ws://H:1/p/?Q=/", "ws://h:1/p?Q=/"},
	{"user keeps its case", "ws://Me@H:01", "ws://Me@h:1"},
	{"IPv4", "tcp://127.0.0.1:07000", "tcp://127.0.0.1:7000"},
	{"IPv6 in brackets", "tcp://[FE80::1]:07000", "tcp://[fe80::1]:7000"},
	{"IPv6 in brackets without port", "tcp://[FE80::1]", "tcp://[fe80::1]"},
	{"IPv6 zone keeps its case", "tcp://[FE80::1%Eth0]:7000", "tcp://[fe80::1%Eth0]:7000"},
	{"IPv6 without brackets, with a port", "tcp://FE80::1:07000", "tcp://[fe80::1]:7000"},
	{"IPv6 without brackets, with zone and port", "tcp://fe80::1%Eth0:7000", "tcp://[fe80::1%Eth0]:7000"},
	{"IPv6 without brackets, full, no port", "tcp://1:2:3:4:5:6:7:B", "tcp://[1:2:3:4:5:6:7:b]"},
	{"IPv6 whose last group is no port", "tcp://FE80::a", "tcp://[fe80::a]"},
	{"too many colons", "tcp://1:2:3:4:5:6:7:00008", "tcp://1:2:3:4:5:6:7:00008"},
	{"something behind the bracket", "tcp://[::1]A", "tcp://[::1]A"},
	{"bracket that is not closed", "tcp://[::A", "tcp://[::A"},
	{"other scheme keeps its rest", "IPC:///Tmp/Sock/", "ipc:///Tmp/Sock/"},
	{"in the process", "InProc://Name", "inproc://Name"},
	{"no scheme", "Host:07000/", "Host:07000/"},
	{"scheme that is none", "1A://Host", "1A://Host"},
	{"nothing but a scheme", "TCP://", "tcp://"},
}

func TestNormalizeEndpoint(t *testing.T) {
	t.Parallel()
	for _, c := range endpoints {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := peers.NormalizeEndpoint(c.given); got != c.want {
				t.Errorf("%q is %q, want %q", c.given, got, c.want)
			}
		})
	}
}

func FuzzNormalizeEndpoint(f *testing.F) {
	for _, c := range endpoints {
		f.Add(c.given)
	}
	f.Fuzz(func(t *testing.T, given string) {
		once := peers.NormalizeEndpoint(given)
		if twice := peers.NormalizeEndpoint(once); twice != once {
			t.Errorf("%q is %q, and that is %q", given, once, twice)
		}
	})
}
