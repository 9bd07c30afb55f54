# frozen_string_literal: true

# Writes a lock log in production: what an application knows of its locks, a line for each event.
#
# `sim check` judges such files afterwards: https://github.com/redlock-sim/redlock-sim/blob/main/docs/guide/production-log.md
# One file, standard library, Ruby 3.0 or later. Keep it in your application:
#
#     log = LockLog.new("/var/log/shop/locks.locklog")
#     hold = log.ask("orders")
#     lock = client.lock("orders", 10_000)
#     hold.granted(owner: lock[:value], ttl: 10)
#     ...
#     hold.releasing; client.unlock(lock); hold.released
#
# Threads may share it. It raises nothing: what it cannot write it drops, and counts in dropped. Lines wait until there are 256, or an event
# comes a second after the last write; at exit they are written. The file is opened for each write, so it may be renamed at any time.
# Times are in seconds.
require "json"
require "monitor"
require "securerandom"
require "socket"

class LockLog
  attr_reader :dropped

  def initialize(path, host: Socket.gethostname)
    @path, @host, @dropped, @lock = path, text(host), 0, Monitor.new
    start
    at_exit { flush }
  end

  # Asks for a lock: what is granted and released together is one hold.
  def ask(lock)
    number = @lock.synchronize { start if @pid != Process.pid; @holds += 1 }
    Hold.new(self, %("hold":#{number},"lock":#{text(lock)})).tap(&:asked)
  end

  # Before a renewal or a write, for since.
  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def write(event, hold, since: nil, owner: nil, ttl: nil, validity: nil, renews: false, token: nil)
    @lock.synchronize do
      start if @pid != Process.pid # a child has a log of its own
      mono = now
      line = +%(#{@head}#{@next},"wall":#{Process.clock_gettime(Process::CLOCK_REALTIME, :microsecond)},"mono":#{(mono * 1e6).to_i},) <<
             %("event":"#{event}",#{hold})
      line << %(,"owner":#{text(owner)}) if owner
      line << %(,"ttl":#{(ttl * 1e6).to_i}) if ttl
      line << %(,"validity":#{(validity * 1e6).to_i}) if validity
      line << ',"renews":true' if renews
      line << %(,"token":#{Integer(token)}) if token
      line << %(,"took":#{([0, mono - since].max * 1e6).to_i}) if since
      @next += 1
      @lines << (line << "}\n")
      flush if @lines.size >= 256 || mono - @written >= 1
    end
  rescue StandardError
    @dropped += 1
  end

  def flush
    @lock.synchronize do
      return if @lines.empty? || @pid != Process.pid

      lines, @lines, @written, whole = @lines, [], now, false
      begin
        data = @torn + lines.join
        whole = File.open(@path, File::WRONLY | File::APPEND | File::CREAT, 0o640) { |f| f.syswrite(data) == data.bytesize }
      rescue StandardError, SystemCallError # counted below
      end
      @torn = whole ? "" : "\n"
      @dropped += lines.size unless whole
    end
  end

  private

  def start
    @pid, @lines, @next, @holds, @written, @torn = Process.pid, [], 0, 0, 0, ""
    @head = %({"locklog":1,"host":#{@host},"process":"#{@pid}-#{SecureRandom.hex(4)}","line":)
  end

  # What is no text is written in hexadecimal, so that two different values stay different.
  def text(value)
    value = value.to_s
    utf8 = value.encoding == Encoding::UTF_8 ? value : value.dup.force_encoding(Encoding::UTF_8)
    (utf8.valid_encoding? ? utf8 : "0x#{utf8.unpack1('H*')}").to_json
  end

  class Hold
    def initialize(log, tail)
      @log, @tail = log, tail
    end

    # asked: before each further try, where the application itself tries again.
    # granted: validity is what the library says is left of it, renews: that it renews the lock by itself.
    def granted(**more) = @log.write("granted", @tail, **more)
    def renewed(since, **more) = @log.write("renewed", @tail, since: since, **more)
    def write_done(since, token = nil) = @log.write("write-done", @tail, since: since, token: token)
    def write_refused(since, token = nil) = @log.write("write-refused", @tail, since: since, token: token)

    %w[asked not-granted lost releasing released released-in-vain].each do |event|
      define_method(event.tr("-", "_")) { @log.write(event, @tail) }
    end
  end
end
