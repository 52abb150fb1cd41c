# Starts Procfiles as `foreman start` does, with foreman's own engine, and waits until all their processes ended.
#
# Reads a case in each line of the standard input; answers with the processes' labels and ports, or foreman's error.
require "foreman/engine"
require "json"

root = ARGV[0]
file = { procfile: "#{root}/Procfile", env: "#{root}/.env" }

class Quiet < Foreman::Engine
  attr_reader :running

  def startup; end
  def output(name, data); end

  def start_all
    spawn_processes
    running.keys.compact.each { |pid| ::Process.wait(pid) }
    @readers.each_value(&:close)
  end
end

STDIN.each_line do |line|
  wanted = JSON.parse(line)
  File.write(file[:procfile], wanted["procfile"])
  File.write(file[:env], wanted["env"])
  begin
    options = { root: root, formation: wanted["formation"], port: wanted["port"] }
    engine = Quiet.new(options)
    engine.load_env(file[:env])
    engine.load_procfile(file[:procfile])
    engine.start_all
    ports = {}
    labels = engine.processes.zip(engine.process_names).flat_map do |process, name|
      1.upto(engine.formation[name]).map do |number|
        port = engine.port_for(process, number)
        ports["#{name}.#{number}"] = port
        "#{name}.#{number}:#{port}"
      end
    end
    puts JSON.generate(labels: labels, ports: ports)
  rescue StandardError => error
    puts JSON.generate(error: "#{error.class}: #{error}")
  end
  STDOUT.flush
end
