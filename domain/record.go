package domain

import (
	"errors"
	"fmt"
	"slices"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// A stored value is a CBOR array of two: the record version and the body, a map
// as the protocol writes it.
//
//	82        array of two
//	01        record version
//	a? ...    body
//
// An unknown version is never guessed at: whoever changes a body in a way that
// older instances would misread raises the version.
const (
	recordArray   = 0x82
	recordVersion = 1
)

// encodeRecord writes the value of a row. The only error is text that is not
// UTF-8.
func encodeRecord(body any) ([]byte, error) {
	b, err := wire.Marshal(wire.CBOR, body)
	if err != nil {
		return nil, err
	}
	return slices.Insert(b, 0, recordArray, recordVersion), nil
}

// decodeRecord reads the value of a row into the zero body. Any error is a
// *kvstore.DataLostError.
func decodeRecord(r *kvstore.Row, body any) error {
	data, err := recordBody(r.Value)
	if err == nil {
		err = wire.Unmarshal(wire.CBOR, data, body)
	}
	if err != nil {
		return lost(r, err)
	}
	return nil
}

// recordBody returns the encoded body of a value.
func recordBody(value []byte) ([]byte, error) {
	switch {
	case len(value) < 2 || value[0] != recordArray:
		return nil, errors.New("not a record: want an array of a version and a body")
	case value[1] != recordVersion:
		return nil, fmt.Errorf("unknown record version %#x, want %d", value[1], recordVersion)
	}
	return value[2:], nil
}

func lost(r *kvstore.Row, cause error) error {
	return &kvstore.DataLostError{Key: r.Key, Cause: cause}
}

// putRecord stores a body as the row of a key.
func putRecord(tx *kvstore.Tx, k kvstore.Key, body any, expiry kvstore.Instant) error {
	value, err := encodeRecord(body)
	if err != nil {
		return err
	}
	_, err = tx.Put(k, value, expiry)
	return err
}
