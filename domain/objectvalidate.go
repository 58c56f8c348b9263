package domain

import (
	"fmt"
	"unicode/utf8"

	"github.com/zlink/zlink-nats/wire"
)

// ValidateAuthorityRead checks a request of authority.read.
func ValidateAuthorityRead(req *wire.AuthorityReadRequest) error {
	var c checks
	c.objectKey("key", req.Key)
	return c.err
}

// ValidateAuthorityList checks a request of authority.list.
func ValidateAuthorityList(req *wire.AuthorityListRequest) error {
	var c checks
	c.that(len(req.Prefix) <= wire.MaxKeyTextBytes && utf8.ValidString(req.Prefix), "prefix", req.Prefix,
		fmt.Sprintf("0..%d bytes of text", wire.MaxKeyTextBytes))
	c.cursor("cursor", req.Cursor)
	c.uint("limit", req.Limit, 1, MaxPageItems)
	return c.err
}

// ValidateAuthorityCompareExchange checks a request of authority.compare-exchange.
func ValidateAuthorityCompareExchange(req *wire.AuthorityCompareExchangeRequest) error {
	var c checks
	c.objectKey("key", req.Key)
	c.version("expectedStoreVersion", req.ExpectedStoreVersion)
	c.within("mutation", checkMutation(&req.Mutation, req.Key))
	return c.err
}

func checkMutation(m *wire.AuthorityMutation, k wire.ObjectKey) error {
	var c checks
	c.that(m.Kind.Valid(), "kind", string(m.Kind), "put, rebindOwnerLease, restore, reincarnate or delete")
	form := string(m.Kind)
	put, rebind, restore := m.Kind == wire.AuthorityPut, m.Kind == wire.AuthorityRebind, m.Kind == wire.AuthorityRestore
	c.form("payload", m.Payload != nil, m.Kind != wire.AuthorityDelete, form)
	c.payload("payload", m.Payload)
	c.form("generationTransition", m.GenerationTransition != "", put, form)
	c.that(m.GenerationTransition == "" || m.GenerationTransition.Valid(), "generationTransition",
		string(m.GenerationTransition), "preserve")
	c.only("phase", m.Phase != "", put || restore, form)
	c.that(m.Phase == "" || m.Phase.Valid(), "phase", string(m.Phase), "steady, closing or recovering")
	c.only("membership", m.Membership != nil, put, form)
	c.membership("membership", m.Membership, k)
	c.form("expectedOwner", m.ExpectedOwner != nil, rebind || restore, form)
	c.form("targetOwner", m.TargetOwner != nil, rebind, form)
	if m.ExpectedOwner != nil {
		c.token("expectedOwner", *m.ExpectedOwner)
	}
	if m.TargetOwner != nil {
		c.token("targetOwner", *m.TargetOwner)
	}
	if rebind && c.err == nil {
		c.that(m.TargetOwner.OwnerID == m.ExpectedOwner.OwnerID, "targetOwner.ownerId", m.TargetOwner.OwnerID, "the same as expectedOwner's")
		c.that(m.TargetOwner.LeaseGeneration != m.ExpectedOwner.LeaseGeneration, "targetOwner.leaseGeneration",
			fmt.Sprint(m.TargetOwner.LeaseGeneration), "another than expectedOwner's")
	}
	return c.err
}

// ValidateObjectReserve checks a request of object.reserve.
func ValidateObjectReserve(req *wire.ObjectReserveRequest) error {
	var c checks
	c.objectKey("key", req.Key)
	c.intentOf("intent", &req.Intent)
	c.target("target", req.Target)
	c.payload("creatingPayload", req.CreatingPayload)
	c.capacity("capacity", req.Capacity)
	c.optionalUUID("reservationId", req.ReservationID)
	c.endedOwner("endedOwner", req.EndedOwner)
	return c.err
}

// ValidateObjectPlace checks a request of object.place.
func ValidateObjectPlace(req *wire.ObjectPlaceRequest) error {
	var c checks
	c.objectKey("key", req.Key)
	c.intentOf("intent", &req.Intent)
	c.identifier("meshName", req.MeshName)
	c.payload("creatingPayload", req.CreatingPayload)
	c.capacity("capacity", req.Capacity)
	c.exclude("exclude", req.Exclude)
	c.optionalUUID("reservationId", req.ReservationID)
	c.endedOwner("endedOwner", req.EndedOwner)
	return c.err
}

// ValidateObjectCommit checks a request of object.commit.
func ValidateObjectCommit(req *wire.ObjectCommitRequest) error {
	var c checks
	c.objectKey("key", req.Key)
	c.that(req.Key.IsSpot(), "key.kind", string(req.Key.Kind), "a spot; an actor is completed by object.complete-creation")
	c.uuid("reservationId", req.ReservationID)
	c.version("expectedStoreVersion", req.ExpectedStoreVersion)
	c.target("target", req.Target)
	c.payload("readyPayload", req.ReadyPayload)
	return c.err
}

// ValidateObjectAbort checks a request of object.abort.
func ValidateObjectAbort(req *wire.ObjectAbortRequest) error {
	var c checks
	c.objectKey("key", req.Key)
	c.uuid("reservationId", req.ReservationID)
	c.version("expectedStoreVersion", req.ExpectedStoreVersion)
	c.target("target", req.Target)
	return c.err
}

// ValidateObjectCompleteCreation checks a request of object.complete-creation. How
// old the operation may be depends on the store's time, so its rule checks that.
func ValidateObjectCompleteCreation(req *wire.ObjectCompleteCreationRequest) error {
	var c checks
	c.objectKey("key", req.Key)
	c.that(!req.Key.IsSpot(), "key.kind", string(req.Key.Kind), "an actor; a spot is committed by object.commit")
	c.uuid("reservationId", req.ReservationID)
	c.version("expectedStoreVersion", req.ExpectedStoreVersion)
	c.target("target", req.Target)
	c.within("completion", checkCompletion(&req.Completion, req.Key))
	return c.err
}

func checkCompletion(d *wire.Completion, k wire.ObjectKey) error {
	var c checks
	c.that(d.Kind.Valid(), "kind", string(d.Kind), "created, rejected or failed")
	created := d.Kind == wire.CompletionCreated
	c.form("readyPayload", d.ReadyPayload != nil, created, string(d.Kind))
	c.payload("readyPayload", d.ReadyPayload)
	c.only("membership", d.Membership != nil, created, string(d.Kind))
	c.membership("membership", d.Membership, k)
	c.terminal("terminal", &d.Terminal)
	return c.err
}

// ValidateObjectReadTerminal checks a request of object.read-terminal.
func ValidateObjectReadTerminal(req *wire.ObjectReadTerminalRequest) error {
	var c checks
	c.operation("operation", req.Operation)
	return c.err
}

// ValidateObjectReleaseEnded checks a request of object.release-ended.
func ValidateObjectReleaseEnded(req *wire.ObjectReleaseEndedRequest) error {
	var c checks
	c.objectKey("key", req.Key)
	c.version("expectedStoreVersion", req.ExpectedStoreVersion)
	return c.err
}

// ValidateObjectFind checks a request of object.find.
func ValidateObjectFind(req *wire.ObjectFindRequest) error {
	var c checks
	c.that(req.Kind.Valid(), "kind", string(req.Kind), "actor or spot")
	c.identifier("globalId", req.GlobalID)
	return c.err
}

// ValidateObjectList checks a request of object.list.
func ValidateObjectList(req *wire.ObjectListRequest) error {
	var c checks
	c.that(req.ObjectKind.Valid(), "objectKind", string(req.ObjectKind), "actor, userSpot or instanceSpot")
	c.optionalIdentifier("stableType", req.StableType)
	c.optionalIdentifier("meshName", req.MeshName)
	c.page(&req.PageRequest)
	return c.err
}

// ValidateObjectAwait checks a request of object.await.
func ValidateObjectAwait(req *wire.ObjectAwaitRequest) error {
	var c checks
	c.objectKey("key", req.Key)
	c.that(req.Until.Valid(), "until", string(req.Until), "settled or changed")
	c.only("sinceVersion", req.SinceVersion != "", req.Until == wire.AwaitChanged, string(req.Until))
	c.that(len(req.SinceVersion) <= maxVersionBytes, "sinceVersion", string(req.SinceVersion), "1..64 bytes")
	return c.err
}

// ValidatePlacementSelect checks a request of placement.select.
func ValidatePlacementSelect(req *wire.PlacementSelectRequest) error {
	var c checks
	c.identifier("meshName", req.MeshName)
	c.that(req.ObjectKind.Valid(), "objectKind", string(req.ObjectKind), "actor, userSpot or instanceSpot")
	c.identifier("stableType", req.StableType)
	c.capacity("capacity", req.Capacity)
	c.exclude("exclude", req.Exclude)
	return c.err
}
