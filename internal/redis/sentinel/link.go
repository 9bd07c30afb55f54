package sentinel

import "time"

// send sends a command over the command connection.
func (s *Sentinel) send(ri *instance, a Action) {
	a.Conn = ri.link.cc
	ri.link.pendingCommands++
	s.config.Do(a)
}

// open opens a connection to an instance.
func (s *Sentinel) open(ri *instance, pubsub bool) int {
	s.conn++
	s.instances[s.conn] = ri
	s.config.Do(Action{Verb: Open, Conn: s.conn, To: ri.name, PubSub: pubsub})
	return s.conn
}

// closeConnection is instanceLinkCloseConnection.
func (s *Sentinel) closeConnection(ri *instance, conn *int) {
	if *conn == 0 {
		return
	}
	s.config.Do(Action{Verb: Close, Conn: *conn})
	s.loseConnection(ri, conn)
}

func (s *Sentinel) loseConnection(ri *instance, conn *int) {
	delete(s.instances, *conn)
	if conn == &ri.link.cc {
		ri.link.pendingCommands = 0
	}
	*conn = 0
	ri.link.disconnected = true
}

// Broke says that a connection is over (instanceLinkConnectionError).
func (s *Sentinel) Broke(conn int) {
	ri := s.instances[conn]
	if ri == nil {
		return
	}
	if ri.link.pc == conn {
		s.loseConnection(ri, &ri.link.pc)
	} else {
		s.loseConnection(ri, &ri.link.cc)
	}
}

// reconnect is sentinelReconnectInstance.
func (s *Sentinel) reconnect(ri *instance) {
	l := &ri.link
	if !l.disconnected || s.now-l.lastReconnTime < pingPeriod {
		return
	}
	l.lastReconnTime = s.now
	if l.cc == 0 {
		l.cc, l.ccConnTime, l.pendingCommands = s.open(ri, false), s.now, 0
		s.sendPing(ri)
	}
	if ri.role != Peer && l.pc == 0 {
		l.pc, l.pcConnTime = s.open(ri, true), s.now
	}
	l.disconnected = false
}

// sendPing is sentinelSendPing.
func (s *Sentinel) sendPing(ri *instance) {
	s.send(ri, Action{Verb: Ping})
	ri.link.lastPingTime = s.now
	if ri.link.actPingTime == 0 {
		ri.link.actPingTime = s.now
	}
}

func (s *Sentinel) pingPeriod() int64 { return min(s.downAfter(), pingPeriod) }

// sendPeriodicCommands is sentinelSendPeriodicCommands.
func (s *Sentinel) sendPeriodicCommands(ri *instance) {
	l := &ri.link
	if l.disconnected || l.pendingCommands >= maxPendingCommands {
		return
	}
	period := int64(InfoPeriod)
	if ri.role == Replica && (s.master.oDown || s.master.failoverInProgress || ri.masterLinkDownTime != 0) {
		period = 1000
	}
	if ri.role != Peer && (ri.infoRefresh == 0 || s.now-ri.infoRefresh > period) {
		s.send(ri, Action{Verb: AskInfo})
	}
	if ping := s.pingPeriod(); s.now-l.lastPongTime > ping && s.now-l.lastPingTime > ping/2 {
		s.sendPing(ri)
	}
	if s.now-ri.lastPubTime > PublishPeriod {
		s.send(ri, Action{Verb: Publish, Hello: Hello{From: s.config.Name, CurrentEpoch: s.currentEpoch,
			ConfigEpoch: s.master.configEpoch, Primary: s.Primary()}})
	}
}

// Answered takes in what came over a command connection: sentinelPingReplyCallback,
// sentinelInfoReplyCallback, sentinelPublishReplyCallback, sentinelReceiveIsMasterDownReply and
// sentinelDiscardReplyCallback.
func (s *Sentinel) Answered(now time.Duration, conn int, a Answer) {
	s.setTime(now)
	ri := s.instances[conn]
	if ri == nil {
		return
	}
	ri.link.pendingCommands--
	switch a.To { //nolint:exhaustive // what else is answered changes nothing
	case Ping:
		ri.link.lastAvailTime, ri.link.actPingTime = s.now, 0
		ri.link.lastPongTime = s.now
	case AskInfo:
		s.refreshInfo(ri, a.Info)
	case Publish:
		ri.lastPubTime = s.now
	case AskDown:
		ri.lastMasterDownReplyTime, ri.masterDown = s.now, a.Down.Down
		if a.Down.Leader != "" {
			ri.leader, ri.leaderEpoch = a.Down.Leader, a.Down.Epoch
		}
	}
}

// Heard takes in what came over a connection for hello messages (sentinelReceiveHelloMessages);
// nil: that it is subscribed.
func (s *Sentinel) Heard(now time.Duration, conn int, h *Hello) {
	s.setTime(now)
	ri := s.instances[conn]
	if ri == nil {
		return
	}
	ri.link.pcLastActivity = s.now
	if h != nil && h.From != s.config.Name {
		s.processHello(*h)
	}
}

// Greeted takes in a hello message that another sentinel sent here (sentinelPublishCommand).
func (s *Sentinel) Greeted(now time.Duration, h Hello) {
	s.setTime(now)
	s.processHello(h)
}

// processHello is sentinelProcessHelloMessage. Sentinels know each other from the start.
func (s *Sentinel) processHello(h Hello) {
	if h.CurrentEpoch > s.currentEpoch {
		s.currentEpoch = h.CurrentEpoch
		s.flushConfig()
		s.tellEpoch(NewEpoch, s.master, s.currentEpoch)
	}
	if m := s.master; m.configEpoch < h.ConfigEpoch {
		m.configEpoch = h.ConfigEpoch
		if m.name != h.Primary {
			s.config.Tell(Event{Word: ConfigUpdateFrom, Target: h.From})
			s.config.Tell(Event{Word: SwitchMaster, Target: h.Primary})
			s.resetMasterAndChangeAddress(h.Primary)
		}
	}
}

// forceHelloUpdate is sentinelForceHelloUpdateForMaster.
func (s *Sentinel) forceHelloUpdate() {
	for _, ri := range s.all() {
		if ri.lastPubTime >= PublishPeriod+1 {
			ri.lastPubTime -= PublishPeriod + 1
		}
	}
}
