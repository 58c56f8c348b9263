package handlers

import (
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// token says where a list goes on. As text it is base64url without padding of
//
//	1 byte       tokenVersion
//	8 bytes      list, big endian
//	1 byte, n    length of the instance id, and it
//	1 byte, n    length of the snapshot id, and it
//	the rest     after
//
// It is no secret and needs no signature: the snapshot's id cannot be guessed, and a list never leaves its prefix.
type token struct {
	list     uint64      // of listSum
	instance string      // who keeps the snapshot
	snapshot string      // id of the snapshot
	after    kvstore.Key // the last key that was looked at
}

const tokenVersion = 1

func (t token) encode() string {
	b := binary.BigEndian.AppendUint64([]byte{tokenVersion}, t.list)
	for _, id := range []string{t.instance, t.snapshot} {
		b = append(b, byte(len(id)))
		b = append(b, id...)
	}
	return base64.RawURLEncoding.EncodeToString(append(b, t.after...))
}

// decodeToken returns kvstore.ErrScanExpired for text that is no token.
func decodeToken(text string) (token, error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) < 9 || b[0] != tokenVersion {
		return token{}, kvstore.ErrScanExpired
	}
	t := token{list: binary.BigEndian.Uint64(b[1:])}
	b = b[9:]
	for _, id := range []*string{&t.instance, &t.snapshot} {
		if len(b) == 0 || len(b) <= int(b[0]) {
			return token{}, kvstore.ErrScanExpired
		}
		end := 1 + int(b[0])
		*id, b = string(b[1:end]), b[end:]
	}
	t.after = kvstore.Key(b)
	if t.encode() != text { // line breaks and loose bits are ignored by the library
		return token{}, kvstore.ErrScanExpired
	}
	return t, nil
}

// listSum tells lists apart: the operation and everything in the request but where and how long the page is. A sum that two
// lists share does no harm, it lets a client mix them up.
func listSum(op subjects.Operation, request any) (uint64, error) {
	data, err := wire.Marshal(wire.CBOR, request)
	if err != nil {
		return 0, err
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(op)) // a hash does not fail
	_, _ = h.Write(data)
	return h.Sum64(), nil
}
