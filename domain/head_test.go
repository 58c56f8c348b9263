package domain_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// TestHeadPassesOverTheRest reads heads of records in which anything else stands,
// and of values that are no records.
func TestHeadPassesOverTheRest(t *testing.T) {
	t.Parallel()
	const owner, generation, spot = "gownerIdaa", "oleaseGeneration\x05", "kentrySpotIdae"
	none, whole := wire.OwnerToken{}, wire.OwnerToken{OwnerID: "a", LeaseGeneration: 5}
	for name, tt := range map[string]struct {
		value string
		want  wire.OwnerToken
		spot  string
	}{
		"the head alone":            {"\xa3" + owner + generation + spot, whole, "e"},
		"any order":                 {"\xa3" + spot + generation + owner, whole, "e"},
		"nothing for the spot":      {"\xa3" + owner + generation + "kentrySpotId\xf6", whole, ""},
		"every other kind of item":  {"\xa3" + owner + "ax\x89\x20\x38\x01\x41b\xc1\x00\xf4\xf6\xf9\x00\x00\xa1\x00\x00\x80" + generation, whole, ""},
		"the names within an item":  {"\xa3" + owner + "ax\xa1gownerIdab" + generation, whole, ""},
		"numbers of any width":      {"\xa4ax\x18\x01aw\x19\x00\x01" + owner + "oleaseGeneration\x1b\x00\x00\x00\x00\x00\x00\x00\x05", whole, ""},
		"text with a long head":     {"\xa3ax\x79\x01\x00" + strings.Repeat("x", 256) + owner + generation, whole, ""},
		"no owner":                  {"\xa1" + generation, none, ""},
		"owner that is no text":     {"\xa2gownerId\x01" + generation, none, ""},
		"number that is text":       {"\xa2" + owner + "oleaseGenerationa5", none, ""},
		"name that is no text":      {"\xa3\x01\x01" + owner + generation, none, ""},
		"fewer members than said":   {"\xa3" + owner + generation, none, ""},
		"array":                     {"\x82" + owner, none, ""},
		"nothing":                   {"", none, ""},
		"cut in a head":             {"\xa1\x19", none, ""},
		"cut in text":               {"\xa1gown", none, ""},
		"indefinite length":         {"\xbf" + owner + generation + "\xff", none, ""},
		"array that claims a lot":   {"\xa3ax\x9b\xff\xff\xff\xff\xff\xff\xff\xff" + owner + generation, none, ""},
		"map that claims a lot":     {"\xbb\xff\xff\xff\xff\xff\xff\xff\xff" + owner + generation, none, ""},
		"nested without end":        {"\xa3ax" + strings.Repeat("\x81", 1<<16) + "\x00" + owner + generation, whole, ""},
		"nested more than is there": {"\xa3ax" + strings.Repeat("\x81", 1<<16), none, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &kvstore.Row{Value: []byte("\x82\x01" + tt.value)}
			token, spot := domain.HeadOf(r)
			want(t, token, tt.want)
			want(t, spot, tt.spot)
			r.Value = bytes.Clone(r.Value[:1])
			token, _ = domain.HeadOf(r)
			want(t, token, none)
		})
	}
}
