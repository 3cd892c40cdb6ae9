# Fill a database by the Ruby gem `htm` itself, and say as JSON what it holds and what its own search by vector finds.
#
#   HTM_DATABASE__URL=postgres://… ruby tests/importers/ruby_htm_peer.rb FOLDER
#
# `ruby_htm_peer.py` runs it. The first line of its input has texts and queries. It prints a line for each text that is to be embedded,
# and reads its vector; the last line that it prints is what the gem says. FOLDER is for files, and empty.

require 'htm'
require 'fileutils'
require 'json'
require 'time'

$stdout.sync = true
GIVEN = JSON.parse($stdin.gets)
FOLDER = File.expand_path(ARGV[0])
LIMIT = 10

HTM.configure do |config|
  config.job.backend = :inline
  config.proposition.enabled = true
  config.embedding_generator = lambda do |text|
    raise 'the model is down' if text == GIVEN['without_vector']

    puts JSON.generate({ embed: text })
    JSON.parse($stdin.gets)
  end
  config.tag_extractor = ->(text, _ontology) { text.include?('harbour') ? ['town:harbours'] : [] }
  config.proposition_extractor = ->(text) { text == GIVEN['long'] ? GIVEN['facts'] : [] }
  config.token_counter = ->(text) { text.split.size }
  config.logger.level = Logger::FATAL
end

# -- what is remembered ---------------------------------------------------------------------------------------------------

HTM::Database.migrate
ruby, opal, gone = ['Ruby', 'Opal the 2nd, café', 'Gone'].map { |name| HTM.new(robot_name: name, working_memory_size: 100) }
ids = GIVEN['texts'].each_with_index.map do |text, at|
  ruby.remember(text, tags: ["town:place-#{at % 10}"], metadata: { at: at, even: at.even?, 'nested' => { list: [at, nil, 1.5] } })
end
GIVEN['texts'].first(8).each { |text| opal.remember(text, tags: ['seen:by-opal'], metadata: { lost: true }) }
2.times { ruby.remember(GIVEN['texts'][3]) }
opal.remember(GIVEN['long'], metadata: { importance: 8 })
opal.remember(GIVEN['without_vector'])
opal.remember("  Spaces around it, and 漢字 🐦 within.\n", tags: ['a:b:c:d:e:f:g:h:i', '-', 'scripts'])

# -- what is forgotten ----------------------------------------------------------------------------------------------------

ruby.forget(ids[15])
ruby.purge_deleted(older_than: Time.now + 60, confirm: :confirmed)
ruby.forget(ids[10])
ruby.restore(ids[10])
ruby.forget(ids[11]) # and said again by another robot, which restores it for all
opal.remember(GIVEN['texts'][11])
ruby.forget(ids[12]) # stays forgotten
ruby.forget_content(GIVEN['texts'][13])
ruby.forget(ids[14], soft: false, confirm: :confirmed)
HTM::Models::Node[ids[20]].remove_tag('town')
HTM::Models::Tag.first(name: 'town:place-9').soft_delete!

# -- a robot that is no more ----------------------------------------------------------------------------------------------

gone.remember(GIVEN['of_nobody'], tags: ['town'])
gone.remember(GIVEN['texts'][0])
HTM::Models::Robot[gone.robot_id].delete

# -- files ----------------------------------------------------------------------------------------------------------------

def write(path, *parts)
  File.write(path, parts.join("\n\n"))
  path
end

manual = File.join(FOLDER, 'manual.md')
first, second, third = GIVEN['chapters']
opal.load_file(write(manual, "---\ntitle: The manual\ntags: [guide]\n---\n\n# One", first, "# Two", second))
opal.load_file(write(manual, "---\ntitle: The manual\ntags: [guide]\n---\n\n# One", first, "# Three", third), force: true)
other = write(File.join(FOLDER, 'other.md'), GIVEN['unloaded'])
opal.load_file(other)
opal.unload_file(other)
back = begin
  opal.load_file(write(manual, "---\ntitle: The manual\ntags: [guide]\n---\n\n# One", first, "# Two", second, "# Three", third), force: true)
rescue StandardError => e
  { error: e.class.name }
end

# -- what the gem says of it ----------------------------------------------------------------------------------------------

def instant(time)
  time&.utc&.iso8601(6)
end

memories = HTM::Models::Node.order(:id).all.map do |node|
  {
    id: node.id,
    content: node.content,
    metadata: node.metadata.to_h,
    tags: node.tags_dataset.where(Sequel[:node_tags][:deleted_at] => nil).select_order_map(Sequel[:tags][:name]),
    file: !node.source_id.nil?,
    vector: !node.embedding.nil?,
    created_at: instant(node.created_at),
    robots: node.robot_nodes.sort_by(&:robot_id).to_h do |link|
      [link.robot.name, { at: instant(link.last_remembered_at), first: instant(link.first_remembered_at),
                          made: instant(link.created_at), count: link.remember_count, id: link.robot_id }]
    end
  }
end
forgotten = HTM::Models::Node.with_deleted.exclude(deleted_at: nil).select_order_map(:content)
found = GIVEN['queries'].to_h do |query|
  [query, ruby.recall(query, strategy: :vector, limit: LIMIT, raw: true).map { |hit| hit['id'] }]
end
puts JSON.generate({ said: { version: HTM::VERSION, memories: memories, forgotten: forgotten, found: found, back: back } })
