# frozen_string_literal: true

# Tries lock_log.rb: ruby try.rb correct|broken|many|nowhere FILE, or measure FILE.
require_relative "../../ruby/lock_log"

what, path = ARGV
log = LockLog.new(path, host: "web-1")
use = lambda do |hold|
  hold.granted(owner: "o\"\n\u00e9", ttl: 10, token: 7)
  began = log.now
  sleep 0.002
  hold.write_done(began, 7)
  hold.renewed(log.now, ttl: 10)
end

case what
when "correct"
  first, second = log.ask("orders"), log.ask("orders")
  use.call(first)
  first.releasing
  first.released
  sleep 0.002
  second.granted(owner: "p", ttl: 10, token: 8)
  second.releasing
  second.released_in_vain
when "broken"
  first, second = log.ask("orders"), log.ask("orders")
  use.call(first)
  second.granted(owner: "p", ttl: 10, token: 6)
  sleep 0.002
  [first, second].each { |h| h.releasing; h.released }
when "many"
  child = fork
  Array.new(4) { Thread.new { 500.times { log.ask("orders").not_granted } } }.each(&:join)
  Process.wait(child) if child
when "nowhere"
  log.ask("orders").lost
  log.flush
  puts log.dropped
when "measure"
  hold = log.ask("orders")
  n, took = 200_000, 0
  [n / 10, n].each do |count|
    began = log.now
    count.times { hold.granted(owner: "0123456789abcdef", ttl: 10, token: 7) }
    took = log.now - began
  end
  puts format("%.2f", took / n * 1e6)
end
