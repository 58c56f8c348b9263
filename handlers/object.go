package handlers

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

func objectEndpoints() []*endpoint {
	return []*endpoint{
		writeBound(subjects.ObjectReserve, domain.ValidateObjectReserve, bindReserve),
		write(subjects.ObjectCommit, domain.ValidateObjectCommit, domain.CommitObject),
		write(subjects.ObjectAbort, domain.ValidateObjectAbort, domain.AbortObject),
		write(subjects.ObjectCompleteCreation, domain.ValidateObjectCompleteCreation, domain.CompleteCreation),
		read(subjects.ObjectReadTerminal, domain.ValidateObjectReadTerminal, domain.ReadTerminal),
		read(subjects.ObjectFind, domain.ValidateObjectFind, domain.FindObject),
		list(subjects.ObjectList, domain.ValidateObjectList,
			func(req *wire.ObjectListRequest) *wire.PageRequest { return &req.PageRequest },
			domain.ListObjects,
			func(items []wire.ObjectEntry, p wire.Page) any {
				return &wire.ObjectListReply{Items: items, Page: p}
			}),
		awaitEndpoint(),
		writeBound(subjects.ObjectPlace, domain.ValidateObjectPlace, bindPlace),
		write(subjects.ObjectReleaseEnded, domain.ValidateObjectReleaseEnded, domain.ReleaseEnded),
	}
}

func placementEndpoints() []*endpoint {
	selectNode := read(subjects.PlacementSelect, domain.ValidatePlacementSelect,
		func(v kvstore.View, req *wire.PlacementSelectRequest) (*wire.PlacementSelectReply, error) {
			return domain.SelectPlacement(v, req, newSeed())
		})
	selectNode.inline = false // it looks at all nodes of a mesh
	return []*endpoint{selectNode}
}

// bindReserve gives the request what has to be the same in every run of its rule.
func bindReserve(req *wire.ObjectReserveRequest) func(*kvstore.Tx) (*wire.ObjectReserveReply, error) {
	bound := *req
	if bound.ReservationID == "" {
		bound.ReservationID = newUUID()
	}
	return func(tx *kvstore.Tx) (*wire.ObjectReserveReply, error) { return domain.ReserveObject(tx, &bound) }
}

// bindPlace does the same.
func bindPlace(req *wire.ObjectPlaceRequest) func(*kvstore.Tx) (*wire.ObjectReserveReply, error) {
	bound, seed := *req, newSeed()
	if bound.ReservationID == "" {
		bound.ReservationID = newUUID()
	}
	return func(tx *kvstore.Tx) (*wire.ObjectReserveReply, error) { return domain.PlaceObject(tx, &bound, seed) }
}

func newSeed() domain.Seed {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return domain.Seed{binary.LittleEndian.Uint64(b[:8]), binary.LittleEndian.Uint64(b[8:])}
}

// newUUID returns a random UUID (RFC 9562, version 4).
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
