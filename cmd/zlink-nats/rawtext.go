package main

import (
	"reflect"

	"github.com/alecthomas/kong"
)

// rawText takes the text of flags and arguments as it is. The parser's own way puts U+FFFD for bytes that are no UTF-8, so that
// routing ids that differ in them would be the same.
func rawText(ctx *kong.DecodeContext, target reflect.Value) error {
	token, err := ctx.Scan.PopValue("string")
	if err != nil {
		return err
	}
	if text, ok := token.Value.(string); ok {
		target.SetString(text)
		return nil
	}
	ctx.Scan.PushToken(token) // of a configuration file, where a text may have been written as a number
	return ctx.Scan.PopValueInto("string", target.Addr().Interface())
}
