# frozen_string_literal: true

# The lock program of program_test.go, in Ruby. The lock's key says what it does.
require_relative "../../sdk/ruby/sim_adapter"

closed, collected, objects = [], [], []
collect = proc { collected << 1 } # it refers to no lock

def refuse = raise(SimAdapter::Refused, "taken")

def monotonic = Process.clock_gettime(Process::CLOCK_MONOTONIC)

about = {name: "test", version: "1.0", about: "a lock; its client", kind: "single", keys: ["{key}"], can: ["validity", "setup-again"], points: ["inside", "not armed"]}

SimAdapter.serve(**about) do |setup|
  raise "no such node" if setup.key == "broken"
  raise SimAdapter::Unsupported, "no such topology" if setup.key == "unsupported"
  sleep if setup.key == "slow-open"
  %w[a b].each { |what| setup.on_close { closed << what } } if setup.key == "first"
  lambda do |wait|
    release = setup.key == "not-ours" ? -> { refuse } : -> {}
    grant = SimAdapter::Grant.new(release: release)
    case setup.key
    when "refuse"
      refuse
    when "doubt"
      raise "timeout"
    when "block"
      wait ? sleep(wait) : sleep
      refuse
    when "print"
      puts "a library's noise"
      system("echo a child\\'s noise")
    when "point"
      setup.point("inside")
      setup.point("not armed")
    when "tell"
      a, b = setup.nodes
      owner = [setup.client, setup.seed, setup.ttl, setup.node_timeout, setup.options["a"], a.name, a.host, a.port, a.password, b.tls["ca"]]
      grant = SimAdapter::Grant.new(release: release, owner: owner.join(" "), token: 7, valid_until: monotonic + 1,
                                    extend: -> { monotonic + 2 })
    when "again"
      grant = SimAdapter::Grant.new(release: release, owner: "#{setup.ttl} #{closed.join}")
    when "object"
      setup.lock_object { objects << 1 }
      grant = SimAdapter::Grant.new(release: release, owner: objects.size.to_s)
    when "forget"
      handle = Object.new
      ObjectSpace.define_finalizer(handle, collect)
      grant = SimAdapter::Grant.new(release: -> { handle }, owner: collected.size.to_s)
    when "events"
      grant.renewed(monotonic + 3)
      grant.lost("nobody answers")
    when "flood"
      Thread.new { loop { grant.renewed } }
    end
    grant
  end
end
