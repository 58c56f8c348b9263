package peers_test

import (
	"testing"

	"github.com/zlink/zlink-nats/testenv"
)

func TestMain(m *testing.M) { testenv.VerifyNoLeaks(m) }
