package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// findAggregate asks which aggregate the object takes part in. An explanation does
// without: older services cannot tell, and others not when its data is lost.
func (e *evidence) findAggregate(c *caller) {
	var reply wire.AggregateFindReply
	err := c.ask(subjects.AggregateFind, &wire.AggregateFindRequest{Key: e.objectKey(e.GlobalID)}, &reply)
	switch {
	case errors.Is(err, errNoOperation):
	case err != nil:
		e.AggregateError = err.Error()
	case reply.Aggregate != nil:
		e.Aggregate = &reply
	}
}

// isLocked tells whether an aggregate keeps everybody from changing the object.
func (e *evidence) isLocked() bool {
	return e.Aggregate != nil && e.Aggregate.Aggregate.State == wire.AggregatePrepared
}

// aggregateName names the aggregate that the object takes part in.
func (e *evidence) aggregateName() string {
	f := e.Aggregate.Aggregate.Fence
	return fmt.Sprintf("aggregate %s, generation %d", shown(f.AggregateID), f.AggregateGeneration)
}

// aggregateFacts are those about the aggregate, if there is one.
func (e *evidence) aggregateFacts() []fact {
	if e.Aggregate == nil {
		return nil
	}
	a := e.Aggregate.Aggregate
	text := fmt.Sprintf("%s, generation %d, of %s: %s", shown(a.Fence.AggregateID), a.Fence.AggregateGeneration,
		plural(int(a.ParticipantCount), "participant"), a.State)
	if e.isLocked() {
		text += fmt.Sprintf(" until %s, %s", at(a.Deadline), remaining(e.Aggregate.StoreNow, a.Deadline))
	}
	return []fact{{"aggregate", text}}
}

// remaining is how far off a deadline is.
func remaining(now, deadline wire.Instant) string {
	if deadline <= now {
		return fmt.Sprintf("overdue for %v", since(deadline, now))
	}
	return fmt.Sprintf("in %v", since(now, deadline))
}

// whyAggregate says what the aggregate means for the object.
func (e *evidence) whyAggregate() []string {
	switch {
	case e.AggregateError != "":
		return []string{"whether it takes part in an aggregate cannot be told: " + e.AggregateError}
	case e.Aggregate == nil:
		return nil
	case e.isLocked():
		return slices.Concat([]string{e.whyLocked(), e.whatCommitDoes()}, e.whyStale(), []string{e.whatEndsIt()})
	}
	did := "changed it where it is"
	if e.Aggregate.OwnerTransition == wire.OwnerNew {
		did = "moved it to " + e.destination()
	}
	return []string{fmt.Sprintf("%s has %s; its row is rewritten in the background, which changes nothing for anybody", e.aggregateName(), did)}
}

func (e *evidence) whyLocked() string {
	others := ""
	if n := e.Aggregate.Aggregate.ParticipantCount; n > 1 {
		others = fmt.Sprintf(", together with %s", plural(int(n-1), "other"))
	}
	return fmt.Sprintf("it is locked by %s%s: until that is committed or aborted nobody can change or remove it", e.aggregateName(), others)
}

func (e *evidence) whatCommitDoes() string {
	if e.Aggregate.OwnerTransition == wire.OwnerPreserve {
		return "with aggregate.commit it gets a new payload and stays where it is"
	}
	return "with aggregate.commit it moves to " + e.destination()
}

// destination is where newOwner participants go.
func (e *evidence) destination() string {
	a := e.Aggregate.Aggregate
	return fmt.Sprintf("node %s of mesh %s, owner %s, lease %d", shown(a.TargetDescriptor.RID), shown(a.TargetDescriptor.MeshName),
		shown(a.TargetOwner.OwnerID), a.TargetOwner.LeaseGeneration)
}

func (e *evidence) whatEndsIt() string {
	if a := e.Aggregate.Aggregate; a.Deadline > e.Aggregate.StoreNow {
		return fmt.Sprintf("after its deadline, %s, the service aborts the aggregate if it is not committed yet, and the object stays as it is",
			remaining(e.Aggregate.StoreNow, a.Deadline))
	}
	text := fmt.Sprintf("its deadline has passed, it is %s: the service aborts it within seconds, or its log says why it cannot",
		remaining(e.Aggregate.StoreNow, e.Aggregate.Aggregate.Deadline))
	if e.whyStale() == nil {
		text += "; until then it can still be committed"
	}
	return text
}
