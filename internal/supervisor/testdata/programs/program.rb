require 'securerandom'
require 'socket'

MONOTONIC = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }
BEGUN, WALL = MONOTONIC.call, Time.now

def say(*what)
  puts "#{((MONOTONIC.call - BEGUN) * 1000).round} #{((Time.now - WALL) * 1000).round} #{what.join(' ')}"
  $stdout.flush
end

def day
  sleep 3600
  say 'slept'
  queue, lock, condition = Queue.new, Mutex.new, ConditionVariable.new
  worker = Thread.new do
    sleep 10
    queue << 1
    lock.synchronize { condition.wait(lock, 7.5) }
    say 'waited'
  end
  say 'queue', queue.pop
  worker.join
  say 'joined'
  child = fork { sleep 4; exit! 5 }
  Process.wait child
  say 'child', $?.exitstatus
  puts "random #{SecureRandom.uuid} #{Random.urandom(4).unpack1('H*')}"
end

def serve(port)
  conn = TCPServer.new('0.0.0.0', port.to_i).accept
  say 'accepted', conn.peeraddr(false)[3]
  while (line = conn.gets)
    sleep 1
    say 'heard', line.strip
    conn.write "you said #{line}"
  end
  say 'over'
end

def ask(host, port)
  conn = TCPSocket.new(host, port.to_i)
  say 'connected'
  %w[one two].each do |word|
    conn.puts word
    say conn.gets.strip
  end
  conn.close
end

def crash
  sleep 2
  Process.kill :ABRT, Process.pid
  sleep
end

send(*ARGV)
