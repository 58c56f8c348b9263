package embedded

import (
	"fmt"
	"net"
	"net/url"
	"strconv"

	"github.com/nats-io/nats-server/v2/server"
)

// listenAddresses lists the fixed addresses that a server with these options
// listens on for clients and cluster members.
func listenAddresses(n *server.Options) []string {
	var list []string
	if n.Port > 0 && !n.DontListen {
		list = append(list, net.JoinHostPort(n.Host, strconv.Itoa(n.Port)))
	}
	if n.Cluster.Port > 0 {
		list = append(list, net.JoinHostPort(n.Cluster.Host, strconv.Itoa(n.Cluster.Port)))
	}
	return list
}

func probe(n *server.Options) error { return probeAll(listenAddresses(n)) }

// probeAll finds out whether the addresses can be listened on.
func probeAll(addresses []string) error {
	for _, a := range addresses {
		l, err := net.Listen("tcp", a)
		if isAddressInUse(err) {
			return fmt.Errorf("%w: %s", ErrAddressInUse, a)
		}
		if err != nil {
			return err
		}
		if err := l.Close(); err != nil {
			return err
		}
	}
	return nil
}

// clientURL is the server's URL with a host that can be connected to: a server
// that listens on all interfaces is reached on the loopback one.
func clientURL(ns *server.Server) string {
	u, err := url.Parse(ns.ClientURL())
	if err != nil {
		return ns.ClientURL()
	}
	if ip := net.ParseIP(u.Hostname()); ip != nil && ip.IsUnspecified() {
		loopback := "127.0.0.1"
		if ip.To4() == nil {
			loopback = "::1"
		}
		u.Host = net.JoinHostPort(loopback, u.Port())
	}
	return u.String()
}
