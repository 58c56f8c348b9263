package client

import (
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// repeat says what may be done when the reply to a request was lost.
type repeat uint8

const (
	// never: a second execution would not be the first one again. The zero value, for an operation that is not listed.
	never repeat = iota
	// read: it changes nothing.
	read
	// always: a second execution has the same effect as the first and an answer that says so. Most carry an id or a
	// generation for this; where the answer differs (a removal finds nothing to remove), it is just as true.
	always
	// fenced: the request holds what its own success makes untrue, such as a store version. A success then proves that this was
	// the first execution; a refusal leaves open whether an earlier one is its reason.
	fenced
)

// how is what the client knows of an operation.
type how struct {
	repeat repeat
	// long: its work grows with the request or it waits for something, so that one try gets all the time that there is.
	long bool
}

var operations = map[subjects.Operation]how{
	subjects.LeaseClaim:   {repeat: always}, // by claimId
	subjects.LeaseRead:    {repeat: read},
	subjects.LeaseRenew:   {repeat: always},
	subjects.LeaseRelease: {repeat: always},

	subjects.MeshNodeUpdate:        {repeat: always},
	subjects.MeshNodeRemove:        {repeat: always},
	subjects.MeshNodeList:          {repeat: read},
	subjects.ClientServerUpdate:    {repeat: always},
	subjects.ClientServerRemove:    {repeat: always},
	subjects.ClientServerList:      {repeat: read},
	subjects.FanoutPublisherUpdate: {repeat: always},
	subjects.FanoutPublisherRemove: {repeat: always},
	subjects.FanoutPublisherList:   {repeat: read},

	subjects.PeerUpdate:   {repeat: always},
	subjects.PeerRemove:   {repeat: always},
	subjects.PeerList:     {repeat: read},
	subjects.SpotUpdate:   {repeat: always},
	subjects.SpotRemove:   {repeat: always},
	subjects.SpotResolve:  {repeat: read},
	subjects.SpotList:     {repeat: read},
	subjects.ActorUpdate:  {repeat: always},
	subjects.ActorRemove:  {repeat: always},
	subjects.ActorResolve: {repeat: read},
	subjects.ActorList:    {repeat: read},
	subjects.RouteUpdate:  {repeat: always},
	subjects.RouteRemove:  {repeat: always},
	subjects.RouteResolve: {repeat: read},
	subjects.RouteList:    {repeat: read},

	subjects.AuthorityRead:            {repeat: read},
	subjects.AuthorityList:            {repeat: read},
	subjects.AuthorityCompareExchange: {repeat: fenced}, // by expectedStoreVersion

	subjects.ObjectReserve:          {repeat: always}, // by reservationId
	subjects.ObjectPlace:            {repeat: always}, // by reservationId
	subjects.ObjectCommit:           {repeat: always}, // alreadyCommitted
	subjects.ObjectAbort:            {repeat: always}, // alreadyAborted
	subjects.ObjectCompleteCreation: {repeat: always}, // alreadyCompleted
	subjects.ObjectReleaseEnded:     {repeat: fenced}, // by expectedStoreVersion
	subjects.ObjectReadTerminal:     {repeat: read},
	subjects.ObjectFind:             {repeat: read},
	subjects.ObjectList:             {repeat: read},
	subjects.ObjectAwait:            {repeat: read, long: true},

	subjects.AggregateStage:   {repeat: always, long: true},
	subjects.AggregatePrepare: {repeat: always, long: true}, // alreadyPrepared
	subjects.AggregateCommit:  {repeat: always, long: true}, // alreadyCommitted
	subjects.AggregateAbort:   {repeat: always, long: true}, // alreadyAborted
	subjects.AggregateFind:    {repeat: read},

	subjects.ActorTransferPrepare:  {repeat: always}, // by transferId
	subjects.ActorTransferCommit:   {repeat: fenced}, // by the state that it ends
	subjects.ActorTransferActivate: {repeat: fenced},
	subjects.ActorTransferAbort:    {repeat: fenced},
	subjects.ActorTransferTakeOver: {repeat: fenced}, // by the recovery lease that it begins
	subjects.ActorTransferResolve:  {repeat: read},

	subjects.OwnerRemoveAll:  {repeat: always, long: true},
	subjects.ChangeStampGet:  {repeat: read},
	subjects.TopologyList:    {repeat: read},
	subjects.TopologySummary: {repeat: read},
	subjects.PlacementSelect: {repeat: read},
	subjects.StoreRead:       {repeat: read},
	subjects.StoreWrite:      {}, // [Store.Write] knows whether its conditions fence it
	subjects.StoreScan:       {repeat: read},
	subjects.StatusGet:       {repeat: read},
}

// succeeded tells whether the reply of a fenced operation says that the request was carried out.
func succeeded(reply any) bool {
	switch r := reply.(type) {
	case *wire.AuthorityCompareExchangeReply:
		return r.Kind == wire.KindStored || r.Kind == wire.KindDeleted
	case *wire.ObjectReleaseEndedReply:
		return r.Kind == wire.KindReleased
	case *wire.ActorTransferReply:
		return r.Status == wire.TransferStatusStored
	case *wire.StoreWriteReply:
		return r.Kind == wire.KindApplied
	}
	return false
}

// selfFenced tells whether a write makes one of its own conditions untrue for good, so that it cannot be carried out twice: it
// changes a key under a condition on that key's version, or stores a missing key that does not expire again.
func selfFenced(w *wire.StoreWriteRequest) bool {
	mutations := make(map[string]wire.StoreMutation, len(w.Mutations))
	for _, m := range w.Mutations {
		mutations[string(m.Key)] = m
	}
	for _, c := range w.Conditions {
		m, ok := mutations[string(c.Key)]
		if ok && (c.Kind == wire.ConditionVersion || m.Kind == wire.MutationPut && m.Retention == 0) {
			return true
		}
	}
	return false
}
