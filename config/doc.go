// Package config is the configuration of the service: one struct, [Config],
// whose field tags name the flags, the environment variables and the defaults,
// and [File], the configuration file of all commands.
//
// # Model
//
// A setting has one name everywhere: the flag --log-level is the key log-level
// of the file and the variable ZLINK_LOG_LEVEL. The variables of the NATS tools
// (NATS_URL, NATS_CREDS and so on) are read where the ZLINK_ one is not set. A
// flag wins over the environment, the environment over the file, the file over
// the default. A variable that is set but empty counts as set.
//
// A command that needs only a part of the settings embeds [Connection], [Client]
// or [Store]; keys of the file that it has no flag for are then not used, but
// have to be those of another command.
//
// # Errors
//
// A setting out of range is an [*InvalidError] that names the flag.
//
// # Concurrency
//
// Everything here is values; nothing is kept between calls.
package config
