package node

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/wire"
)

// descriptor is what is published: one of the three families. It does not change.
type descriptor interface {
	key() Key
	// issued is a copy for a lease, a life and a revision.
	issued(wire.OwnerToken, wire.Generation, wire.Revision) descriptor
	// in is a copy in a state.
	in(wire.NodeState) descriptor
	nodeState() wire.NodeState
	// content is the same for two descriptors of which one need not be published anew for the other.
	content() (string, error)
	update(context.Context, *client.Client, wire.Intent) (*wire.UpdateReply, error)
	remove(context.Context, *client.Client, wire.OwnerToken) (*wire.RemoveReply, error)
}

// publication is one descriptor on its way into the directory.
type publication struct {
	turn chan struct{} // holds an item while a request is made
	progress
}

// progress is how far a publication is. It is guarded by Runtime.mu.
type progress struct {
	wish, sent descriptor // what the host wants; what was sent last, under revision
	want, have string     // their content
	revision   wire.Revision
	waiting    bool            // sent may have been stored or not: it has to be sent again
	lease      wire.Generation // under which a descriptor was stored last; 0 is none that would still be there
	state      wire.NodeState  // of what is stored
	refusal    error           // the final answer to sent, if it was not stored
	malformed  bool            // refusal will not change
	lost       bool            // ownership-lost was raised
	exhausted  bool            // there is no further revision
	logged     string          // the failure that was logged last since it was stored
}

// forget drops everything but the revision.
func (p *publication) forget() {
	p.progress = progress{revision: p.revision, exhausted: p.exhausted}
}

// current tells whether what is wanted is stored under a lease.
func (p *publication) current(lease wire.Generation) bool {
	return p.sent != nil && p.have == p.want && !p.waiting && p.refusal == nil && p.lease == lease && lease != 0
}

// The errors of publishing.
var (
	// ErrUnconfirmed: nobody knows whether the descriptor was stored. It is sent again with every heartbeat.
	ErrUnconfirmed = errors.New("publication is unconfirmed")
	// ErrRefused: the service does not store the descriptor, as somebody else who is live has the row. It is sent again with every
	// heartbeat.
	ErrRefused = errors.New("publication was refused")
	// ErrRevisions: the revisions of the descriptor are used up. It is not published any more.
	ErrRevisions = errors.New("descriptor revisions are used up")
)

// PublishMeshNode publishes the descriptor of a node of a mesh, or what has changed in it. Owner, life and revision are filled in.
// Whatever the error, the descriptor is remembered, and published as soon as it can be; the errors are [ErrNotLeased],
// [ErrUnconfirmed], [ErrRefused], [ErrRevisions], and [client.ErrInvalidArgument] and the like for one that is malformed, which is
// not tried again.
func (r *Runtime) PublishMeshNode(ctx context.Context, d wire.MeshNodeDescriptor) error {
	return r.publish(ctx, newMeshNode(d))
}

// PublishClientServer is [Runtime.PublishMeshNode] for a server of a channel.
func (r *Runtime) PublishClientServer(ctx context.Context, d wire.ClientServerDescriptor) error {
	return r.publish(ctx, clientServer{d})
}

// PublishFanoutPublisher is [Runtime.PublishMeshNode] for a publisher of a channel.
func (r *Runtime) PublishFanoutPublisher(ctx context.Context, d wire.FanoutPublisherDescriptor) error {
	return r.publish(ctx, fanoutPublisher{d})
}

// Withdraw removes a descriptor. It is no error when the row is not there or somebody else's. On an error it stays published.
func (r *Runtime) Withdraw(ctx context.Context, key Key) error {
	p := r.publicationOf(key)
	if p == nil {
		return nil
	}
	ctx, done, err := r.writing(ctx)
	if err != nil {
		return fmt.Errorf("withdraw %v: %w", key, err)
	}
	defer done()
	if err := p.enter(ctx); err != nil {
		return fmt.Errorf("withdraw %v: %w", key, err)
	}
	defer p.leave()
	token, err := r.Admit()
	if err != nil {
		return fmt.Errorf("withdraw %v: %w", key, err)
	}
	if wish := r.wishOf(p); wish != nil {
		if _, err = wish.remove(ctx, r.o.Client, token); err != nil {
			r.asked(OpCompareExchange, err)
			return fmt.Errorf("withdraw %v: %w", key, err)
		}
		r.asked(OpCompareExchange, nil)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p.forget()
	r.changeLocked()
	return nil
}

func (r *Runtime) publicationOf(key Key) *publication {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.published[key]
}

func (r *Runtime) wishOf(p *publication) descriptor {
	r.mu.Lock()
	defer r.mu.Unlock()
	return p.wish
}

func (p *publication) enter(ctx context.Context) error {
	select {
	case p.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *publication) leave() { <-p.turn }

// publish remembers a descriptor and sends it.
func (r *Runtime) publish(ctx context.Context, d descriptor) error {
	content, err := d.content()
	if err != nil {
		return fmt.Errorf("publish %v: %w", d.key(), err)
	}
	p := r.wish(d, content)
	if err := r.flush(ctx, p); err != nil {
		return fmt.Errorf("publish %v: %w", d.key(), err)
	}
	return nil
}

func (r *Runtime) wish(d descriptor, content string) *publication {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.published[d.key()]
	if p == nil {
		p = &publication{turn: make(chan struct{}, 1)}
		r.published[d.key()] = p
	}
	if p.wish, p.want = d, content; p.have != p.want {
		p.malformed = false
	}
	r.changeLocked()
	return p
}

// flush sends a descriptor until what is wanted is stored, or cannot be for now.
func (r *Runtime) flush(ctx context.Context, p *publication) error {
	ctx, done, err := r.writing(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := p.enter(ctx); err != nil {
		return err
	}
	defer p.leave()
	for {
		token, err := r.Admit()
		if err != nil {
			return err
		}
		d, intent, err := r.next(p, token)
		if d == nil {
			return err
		}
		reply, err := r.sendDescriptor(ctx, p, token, d, intent)
		if err = r.settle(p, token, d, reply, err); err != nil {
			return err
		}
	}
}

// next decides what is to be sent; nil when there is nothing.
func (r *Runtime) next(p *publication, token wire.OwnerToken) (descriptor, wire.Intent, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case p.wish == nil || p.current(token.LeaseGeneration):
		return nil, "", nil
	case p.malformed:
		return nil, "", p.refusal
	case p.sent == nil || !p.waiting && p.have != p.want:
		if p.revision == math.MaxInt64 {
			p.exhausted, r.lastError = true, ErrRevisions.Error()
			r.changeLocked()
			return nil, "", ErrRevisions
		}
		p.revision++
		p.sent, p.have = p.wish, p.want
	}
	p.waiting, p.refusal = true, nil
	intent := wire.IntentRenew
	if p.lease != token.LeaseGeneration {
		intent = wire.IntentNewClaim
	}
	return p.sent.issued(token, r.lifecycle, p.revision), intent, nil
}

// sendDescriptor sends a descriptor: what is refused as a renewal may be nobody's any more.
func (r *Runtime) sendDescriptor(ctx context.Context, p *publication, token wire.OwnerToken, d descriptor, intent wire.Intent) (*wire.UpdateReply, error) {
	reply, err := d.update(ctx, r.o.Client, intent)
	if err != nil || reply.Status == wire.StatusStored || intent == wire.IntentNewClaim {
		return reply, err
	}
	r.mu.Lock()
	p.lease = 0 // whatever comes of it, it is no renewal
	r.mu.Unlock()
	if now, err := r.Admit(); err != nil || now != token {
		return nil, ErrNotLeased
	}
	return d.update(ctx, r.o.Client, wire.IntentNewClaim)
}

// settle records the answer, or that there is none.
func (r *Runtime) settle(p *publication, token wire.OwnerToken, d descriptor, reply *wire.UpdateReply, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.changeLocked()
	if errors.Is(err, ErrNotLeased) {
		return err
	}
	r.askedLocked(OpCompareExchange, err)
	switch {
	case isMalformed(err):
		p.waiting, p.refusal, p.malformed = false, err, true
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUnconfirmed, err)
	case reply.Status == wire.StatusStored:
		p.waiting, p.lost, p.logged = false, false, ""
		p.lease, p.state = token.LeaseGeneration, d.nodeState()
		r.o.Logger.Info("published", "key", d.key().String(), "state", string(p.state), "revision", uint64(p.revision))
		return nil
	}
	p.waiting, p.lease = false, 0
	p.refusal = fmt.Errorf("%w: %v: %s", ErrRefused, d.key(), reply.Status)
	r.failedLocked(OpCompareExchange, p.refusal)
	if reply.Status == wire.StatusIgnoredStale && !p.lost {
		p.lost = true
		r.events.tell(Event{Kind: EventOwnershipLost, Key: d.key()})
	}
	return p.refusal
}

// isMalformed tells whether a request was refused in a way that trying again does not mend.
func isMalformed(err error) bool {
	return errors.Is(err, client.ErrInvalidArgument) || errors.Is(err, client.ErrTooLarge)
}

// publishAll sends every descriptor that is not known to be stored as it is wanted.
func (r *Runtime) publishAll(ctx context.Context) {
	for _, p := range r.pending() {
		if err := r.flush(ctx, p); err != nil && ctx.Err() == nil && !errors.Is(err, ErrNotLeased) {
			r.logFailure(p, err)
		}
	}
}

// logFailure logs why a descriptor is not published, unless it is the same reason as before.
func (r *Runtime) logFailure(p *publication, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if text := err.Error(); p.wish != nil && text != p.logged {
		p.logged = text
		r.o.Logger.Warn("publish", "key", p.wish.key().String(), "err", err)
	}
}

// pending are the publications that have something to send.
func (r *Runtime) pending() []*publication {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pendingLocked()
}

func (r *Runtime) pendingLocked() []*publication {
	var list []*publication
	for _, p := range r.published {
		if p.wish != nil && !p.malformed && !p.exhausted && !p.current(r.token.LeaseGeneration) {
			list = append(list, p)
		}
	}
	return list
}

func (r *Runtime) exhaustedLocked() bool {
	for _, p := range r.published {
		if p.exhausted {
			return true
		}
	}
	return false
}

// writing guards a write: it is refused without a usable lease, ends with the life, and Stop waits for it.
func (r *Runtime) writing(ctx context.Context) (writing context.Context, done func(), err error) {
	if _, err := r.Admit(); err != nil {
		return nil, nil, err
	}
	r.mu.Lock()
	l := r.life
	if l == nil || l.ctx.Err() != nil {
		r.mu.Unlock()
		return nil, nil, ErrNotLeased
	}
	l.wg.Add(1)
	r.mu.Unlock()
	writing, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(l.ctx, cancel)
	return writing, func() { stop(); cancel(); l.wg.Done() }, nil
}
