package histories_test

import (
	"testing"
	"time"

	"github.com/zlink/zlink-nats/testenv"
)

func TestMain(m *testing.M) { testenv.VerifyNoLeaks(m) }

// patience bounds every wait; it is far above what anything takes, also on a busy machine.
const patience = 90 * time.Second
