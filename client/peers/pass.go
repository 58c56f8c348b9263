package peers

import (
	"context"
	"errors"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/wire"
)

// listAttempts is how often a listing is begun whose snapshot the service forgets on the way: that happens when an instance ends.
const listAttempts = 3

// stamps tell whether anything has changed that a listing depends on: the rows, and which owners are live. The set of live
// owners changes with every commit that claims, releases or takes away a lease, and with no other.
type stamps struct{ peers, leases wire.Revision }

// pass is one look at the directory.
type pass struct {
	skipped bool    // everything is as before
	stamps  *stamps // as of before the listing; nil when they could not be had
	listing listing
	err     error // of the listing
}

// listing is what all pages show.
type listing struct {
	items    []wire.PeerItem
	revision wire.Revision
	storeNow wire.Instant
}

// look asks for the stamps and, unless they are as given, for a listing. A reader that shows every write that was acknowledged
// is used when there is news.
func (s *Set) look(ctx context.Context, known *stamps, leader bool) pass {
	c := s.o.Client
	if leader {
		c = c.Leader()
	}
	var p pass
	if now, err := s.stamps(ctx, c); err == nil {
		p.stamps = &now
		p.skipped = known != nil && *known == now
	} else {
		s.o.Logger.Debug("change stamps", "op", "peers", "err", err)
	}
	if !p.skipped {
		p.listing, p.err = s.list(ctx, c)
	}
	return p
}

func (s *Set) stamps(ctx context.Context, c *client.Client) (stamps, error) {
	ctx, cancel := context.WithTimeout(ctx, s.o.RequestTimeout)
	defer cancel()
	peers, err := c.Directory.ChangeStamp(ctx, wire.ChangeStampGetRequest{Kind: wire.StampPeer, MeshName: s.rules.own.MeshName})
	if err != nil {
		return stamps{}, err
	}
	leases, err := c.Directory.ChangeStamp(ctx, wire.ChangeStampGetRequest{Kind: wire.StampOwnerLease})
	if err != nil {
		return stamps{}, err
	}
	return stamps{peers.Stamp, leases.Stamp}, nil
}

// list reads all pages of the live peers of the own type and mesh.
func (s *Set) list(ctx context.Context, c *client.Client) (l listing, err error) {
	for range listAttempts {
		if l, err = s.pages(ctx, c); !errors.Is(err, client.ErrScanExpired) {
			break
		}
	}
	return l, err
}

func (s *Set) pages(ctx context.Context, c *client.Client) (listing, error) {
	request := wire.PeerListRequest{
		Filter:      &wire.PeerFilter{AutoConnectType: s.rules.own.AutoConnectType, MeshName: s.rules.own.MeshName},
		PageRequest: wire.PageRequest{PageSize: s.o.PageSize, LiveOnly: true},
	}
	var l listing
	for {
		page, err := s.page(ctx, c, request)
		if err != nil {
			return listing{}, err
		}
		l.items = append(l.items, page.Items...)
		l.revision, l.storeNow = page.Revision, page.StoreNow
		if request.ContinuationToken = page.ContinuationToken; request.ContinuationToken == "" {
			return l, nil
		}
	}
}

func (s *Set) page(ctx context.Context, c *client.Client, request wire.PeerListRequest) (*wire.PeerListReply, error) {
	ctx, cancel := context.WithTimeout(ctx, s.o.RequestTimeout)
	defer cancel()
	return c.Peers.List(ctx, request)
}
