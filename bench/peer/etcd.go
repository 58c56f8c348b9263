package peer

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// etcdQuotaBytes is the largest database that etcd recommends. Every write of a run stays in it, since etcd compacts
// only when told to, and the default of 2 GiB ends a long run.
const etcdQuotaBytes = 8 << 30

// readyWithin is how long a server may take to serve, elections included, on a busy machine.
const readyWithin = time.Minute

// etcdSpec is one etcd member with default settings: it syncs its log before it answers.
type etcdSpec struct {
	Name      string
	Dir       string
	ClientURL string
	PeerURL   string
	Cluster   string // name=peer URL of all members, comma separated
}

// Etcd starts an etcd cluster of the given number of members and returns their client URLs.
func (g *Group) Etcd(ctx context.Context, members int) ([]string, error) {
	ports, err := freePorts(2 * members)
	if err != nil {
		return nil, err
	}
	specs := make([]spec, members)
	cluster := make([]string, members)
	for i := range specs {
		name := fmt.Sprintf("etcd%d", i)
		dir, err := g.newDir(name)
		if err != nil {
			return nil, err
		}
		s := &etcdSpec{Name: name, Dir: dir, ClientURL: "http://" + hostPort(ports[2*i]), PeerURL: "http://" + hostPort(ports[2*i+1])}
		cluster[i] = s.Name + "=" + s.PeerURL
		specs[i].Etcd = s
	}
	for _, s := range specs {
		s.Etcd.Cluster = strings.Join(cluster, ",")
	}
	addrs, err := g.start(ctx, specs...)
	if err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	return addrs, nil
}

func (s *etcdSpec) serve() (string, func(), error) {
	cfg, err := s.config()
	if err != nil {
		return "", nil, err
	}
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return "", nil, err
	}
	select {
	case <-e.Server.ReadyNotify():
		return s.ClientURL, nothingToStop, nil
	case err := <-e.Err():
		return "", nil, err
	case <-time.After(readyWithin):
		return "", nil, errors.New("etcd does not become ready")
	}
}

func (s *etcdSpec) config() (*embed.Config, error) {
	client, err := url.Parse(s.ClientURL)
	if err != nil {
		return nil, err
	}
	peer, err := url.Parse(s.PeerURL)
	if err != nil {
		return nil, err
	}
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir, cfg.InitialCluster = s.Name, s.Dir, s.Cluster
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
	cfg.LogLevel, cfg.LogOutputs = "error", []string{"stderr"}
	cfg.QuotaBackendBytes = etcdQuotaBytes
	return cfg, nil
}
