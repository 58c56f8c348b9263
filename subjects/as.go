package subjects

import (
	"fmt"
	"slices"
	"strings"
)

// asToken follows the prefix in the subjects of owners.
const asToken = ".as."

// As returns the subject of requests for op that act for one owner: "<prefix>.as.<owner id>.<group>.<verb>". The id may be any
// text.
func (p Prefix) As(ownerID string, op Operation) string {
	return string(p) + asToken + EncodeToken(ownerID) + "." + string(op)
}

// AsWildcard returns the subject to subscribe to for the requests for op of all owners.
func (p Prefix) AsWildcard(op Operation) string { return string(p) + asToken + "*." + string(op) }

// ParseAs reads a subject written by [Prefix.As] for an operation of the protocol, and refuses every other text.
func (p Prefix) ParseAs(subject string) (ownerID string, op Operation, err error) {
	rest, ok := strings.CutPrefix(subject, string(p)+asToken)
	token, operation, _ := strings.Cut(rest, ".")
	if op = Operation(operation); !ok || !slices.Contains(operations, op) {
		err = fmt.Errorf("want %s%s<owner id>.<group>.<operation>", p, asToken)
	} else {
		ownerID, err = DecodeToken(token)
	}
	if err != nil {
		return "", "", fmt.Errorf("read owner subject %q: %w", subject[:min(len(subject), shownMax)], err)
	}
	return ownerID, op, nil
}
