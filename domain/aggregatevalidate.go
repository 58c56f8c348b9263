package domain

import (
	"fmt"
	"strconv"

	"github.com/zlink/zlink-nats/wire"
)

const (
	// maxStaged bounds the participants in one call.
	maxStaged     = 1024
	maxPrepareTTL = 3_600_000 // milliseconds
)

// ValidateAggregateStage checks a request of aggregate.stage.
func ValidateAggregateStage(req *wire.AggregateStageRequest) error {
	var c checks
	c.fence("", req.Fence)
	c.participants("participants", req.Participants)
	c.that(uint64(req.StartIndex)+uint64(len(req.Participants)) <= MaxParticipants, "startIndex",
		strconv.FormatUint(uint64(req.StartIndex), 10), fmt.Sprintf("at most %d with the participants", MaxParticipants))
	return c.err
}

// ValidateAggregatePrepare checks a request of aggregate.prepare.
func ValidateAggregatePrepare(req *wire.AggregatePrepareRequest) error {
	var c checks
	c.fence("", req.Fence)
	c.that(req.Participants == nil || req.ParticipantCount == 0, "participantCount",
		strconv.FormatUint(uint64(req.ParticipantCount), 10), "none with participants")
	c.that(req.Participants != nil || req.ParticipantCount != 0, "participants", "", "participants or participantCount")
	if req.Participants != nil {
		c.participants("participants", req.Participants)
	} else {
		c.uint("participantCount", req.ParticipantCount, 1, MaxParticipants)
	}
	c.digest("inventoryDigest", req.InventoryDigest)
	c.identifier("targetDescriptor.meshName", req.TargetDescriptor.MeshName)
	c.rid("targetDescriptor.rid", req.TargetDescriptor.RID)
	c.generation("targetDescriptorLifecycleGeneration", uint64(req.TargetDescriptorLifecycleGeneration))
	c.within("capacity", checkCapacity(req.Capacity))
	c.token("targetOwner", req.TargetOwner)
	c.that(req.PrepareTTL == 0 || req.PrepareTTL >= 1 && req.PrepareTTL <= maxPrepareTTL, "prepareTtlMs",
		strconv.FormatInt(int64(req.PrepareTTL), 10), fmt.Sprintf("1..%d ms", maxPrepareTTL))
	return c.err
}

// ValidateAggregateCommit checks a request of aggregate.commit.
func ValidateAggregateCommit(req *wire.AggregateCommitRequest) error {
	var c checks
	c.fence("fence", req.Fence)
	return c.err
}

// ValidateAggregateAbort checks a request of aggregate.abort.
func ValidateAggregateAbort(req *wire.AggregateAbortRequest) error {
	var c checks
	c.fence("fence", req.Fence)
	return c.err
}

// ValidateAggregateFind checks a request of aggregate.find.
func ValidateAggregateFind(req *wire.AggregateFindRequest) error {
	var c checks
	c.objectKey("key", req.Key)
	return c.err
}

func (c *checks) fence(field string, f wire.Fence) {
	c.identifier(join(field, "aggregateId"), f.AggregateID)
	c.generation(join(field, "aggregateGeneration"), uint64(f.AggregateGeneration))
}

// participants checks those of one call.
func (c *checks) participants(field string, all []wire.AggregateParticipant) {
	c.that(len(all) >= 1 && len(all) <= maxStaged, field, strconv.Itoa(len(all)), fmt.Sprintf("1..%d participants", maxStaged))
	before := ""
	for i := range all {
		c.element(field, i, checkParticipant(&all[i], before))
		before = all[i].AuthorityKey.Text()
	}
}

// checkParticipant checks one that comes after another.
func checkParticipant(p *wire.AggregateParticipant, before string) error {
	var c checks
	c.objectKey("authorityKey", p.AuthorityKey)
	c.that(c.err != nil || p.AuthorityKey.Text() > before, "authorityKey", p.AuthorityKey.Text(), "greater than the one before, in key order")
	c.version("expectedStoreVersion", p.ExpectedStoreVersion)
	c.that(p.OwnerTransition.Valid(), "ownerTransition", string(p.OwnerTransition), "preserve or newOwner")
	c.payload("authorityPayload", p.AuthorityPayload)
	c.payload("membershipMutation", p.MembershipMutation)
	c.membership("membership", p.Membership, p.AuthorityKey)
	return c.err
}
