package node

import (
	"fmt"
	"sync"

	"github.com/zlink/zlink-nats/client/peers"
	"github.com/zlink/zlink-nats/wire"
)

// Kind is a kind of row that a host publishes.
type Kind string

// The values of [Kind].
const (
	KindMeshNode        Kind = "meshNode"
	KindClientServer    Kind = "clientServer"
	KindFanoutPublisher Kind = "fanoutPublisher"
	KindPeer            Kind = "peer"
	KindSpot            Kind = "spot"
	KindActor           Kind = "actor"
	KindRoute           Kind = "route"
)

// Key names a row.
type Key struct {
	Kind  Kind
	Scope string // mesh, channel or kind of route
	ID    string // routing id, spot or actor id, route key; empty for a peer without routing id

	// The rest is of peers alone.
	AutoConnectType wire.AutoConnectType
	Role            wire.PeerRole
	Endpoint        string // where there is no routing id
}

// String is the key for people.
func (k Key) String() string {
	text := fmt.Sprintf("%s %s %q", k.Kind, k.Scope, k.ID+k.Endpoint)
	if k.Kind == KindPeer {
		text += fmt.Sprintf(" (%s %s)", k.AutoConnectType, k.Role)
	}
	return text
}

// EventKind says what happened.
type EventKind string

// The values of [EventKind].
const (
	EventPeerRowUpdated   EventKind = "peerRowUpdated" // a row was stored; Key
	EventPeerRowRemoved   EventKind = "peerRowRemoved" // a row was removed; Key
	EventSpotRowUpdated   EventKind = "spotRowUpdated"
	EventSpotRowRemoved   EventKind = "spotRowRemoved"
	EventActorRowUpdated  EventKind = "actorRowUpdated"
	EventActorRowRemoved  EventKind = "actorRowRemoved"
	EventRouteRowUpdated  EventKind = "routeRowUpdated"
	EventRouteRowRemoved  EventKind = "routeRowRemoved"
	EventSpotResolveMiss  EventKind = "spotResolveMiss" // no live row was found; Key
	EventActorResolveMiss EventKind = "actorResolveMiss"
	EventRouteResolveMiss EventKind = "routeResolveMiss"
	// EventDesiredSetChanged: other peers are to be connected to; Desired.
	EventDesiredSetChanged EventKind = "desiredSetChanged"
	// EventOwnershipLost: somebody else has a row of this host; Key. A location row is not written again by the runtime.
	EventOwnershipLost EventKind = "ownershipLost"
	// EventObjectBound: after a fresh claim an object was bound to the new lease; Object and Token. The host may act for it under this
	// token. One of its objects of which it hears nothing before the EventOwnerLeaseRenewed of the claim is somebody else's, locked by
	// a move, or could not be bound yet.
	EventObjectBound EventKind = "objectBound"
	// EventOwnerLeaseRenewed: the lease was renewed, or claimed by a heartbeat and what belongs to it brought back.
	EventOwnerLeaseRenewed EventKind = "ownerLeaseRenewed"
	// EventOwnerLeaseRenewalFailed: a heartbeat did not renew the lease; Err. [Runtime.Usable] tells whether it is still good.
	EventOwnerLeaseRenewalFailed EventKind = "ownerLeaseRenewalFailed"
	// EventsDropped: so many events were left out here since they were not taken in time; Dropped.
	EventsDropped EventKind = "eventsDropped"
)

// rowEvents are the kinds of events of the rows that have some.
var rowEvents = map[Kind]struct{ updated, removed, miss EventKind }{
	KindPeer:  {EventPeerRowUpdated, EventPeerRowRemoved, ""},
	KindSpot:  {EventSpotRowUpdated, EventSpotRowRemoved, EventSpotResolveMiss},
	KindActor: {EventActorRowUpdated, EventActorRowRemoved, EventActorResolveMiss},
	KindRoute: {EventRouteRowUpdated, EventRouteRowRemoved, EventRouteResolveMiss},
}

// Event is something that the host may want to know of.
type Event struct {
	Kind    EventKind
	Key     Key                      // of the row that it is about, if it is about one
	Object  string                   // text form of the key of a bound object
	Token   wire.OwnerToken          // that a bound object has from now on
	Err     error                    // of a failed renewal
	Desired *peers.DesiredSetChanged // of a changed desired set
	Dropped int                      // of dropped events
}

// maxEvents is how many events wait for a handler that is slow: heartbeats and writers do not.
const maxEvents = 4096

// events tells a handler of events, one after another, and keeps no one waiting.
type events struct {
	handle func(Event)

	mu      sync.Mutex
	queue   []Event // guarded by mu
	dropped int     // guarded by mu; after the last of queue
	telling bool    // guarded by mu; a goroutine is at it
}

// tell hands an event to the handler, sooner or later.
func (e *events) tell(event Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.queue) >= maxEvents {
		e.dropped++
		return
	}
	e.markLocked()
	e.queue = append(e.queue, event)
	if !e.telling {
		e.telling = true
		go e.run()
	}
}

// markLocked puts the mark of what was dropped into the queue.
func (e *events) markLocked() {
	if e.dropped > 0 {
		e.queue = append(e.queue, Event{Kind: EventsDropped, Dropped: e.dropped})
		e.dropped = 0
	}
}

// run tells until there is nothing left.
func (e *events) run() {
	for {
		event, ok := e.next()
		if !ok {
			return
		}
		e.handle(event)
	}
}

func (e *events) next() (Event, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.queue) == 0 {
		e.markLocked()
	}
	if len(e.queue) == 0 {
		e.queue, e.telling = nil, false
		return Event{}, false
	}
	event := e.queue[0]
	e.queue = e.queue[1:]
	return event, true
}
