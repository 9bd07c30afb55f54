package main

import (
	"encoding/json"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/docs"
	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/corpus"
	"github.com/redlock-sim/redlock-sim/internal/history/locklog"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

func newSchemaCommand(a *cli) *cobra.Command {
	topics := []string{"scenario", "lock-protocol", "lock-log", "corpus", "result", "card", "output"}
	return &cobra.Command{
		Use: "schema [scenario|lock-protocol|lock-log|corpus|result|card|output]",
		Short: "Print a JSON Schema: of scenario files, of the lock protocol, of lock logs, of the index of a corpus, " +
			"of result.json, card.json, or --json",
		Example: `  sim schema > scenario.schema.json

  and as the first line of a scenario:
  # yaml-language-server: $schema=scenario.schema.json

  sim schema lock-protocol
  sim schema lock-log
  sim schema corpus
  sim schema result
  sim schema card
  sim schema output      of what the other commands print with --json`,
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: topics,
		RunE: func(_ *cobra.Command, args []string) error {
			topic := topics[0]
			if len(args) > 0 {
				topic = args[0]
			}
			switch topic {
			case "scenario":
				return scenario.WriteSchema(a.stdout)
			case "lock-protocol":
				_, err := io.WriteString(a.stdout, docs.LockProtocolSchema)
				return err
			case "lock-log":
				return a.printIndented(lockLogSchema(meaning(docs.LockLogPage)))
			case "corpus":
				return a.printIndented(corpusSchema(meaning(docs.CorpusPage)))
			case "result":
				return a.printIndented(report.Schema(meaning(docs.ResultPage)))
			case "card":
				return a.printIndented(card.Schema(meaning(docs.AuditPage, docs.ResultPage)))
			case "output":
				return a.printIndented(outputSchema(outputMeaning))
			default:
				return app.Usagef("no schema of %q", topic).Unknown(topic, topics)
			}
		},
	}
}

// lockLogSchema is the JSON Schema of a line of a lock log.
func lockLogSchema(describe func(typ, field string) string) *jsonschema.Schema {
	s := report.SchemaOf(&locklog.Line{}, "Line", describe, jsonschema.Reflector{})
	s.Title = "redlock-sim lock log: one line"
	s.AdditionalProperties = jsonschema.FalseSchema
	s.Properties.Value("locklog").Const = locklog.Version
	for _, e := range locklog.Events() {
		s.Properties.Value("event").Enum = append(s.Properties.Value("event").Enum, e)
	}
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		if p.Value.Type == "integer" && p.Key != "locklog" && p.Key != "token" {
			p.Value.Minimum, p.Value.Maximum = "0", json.Number(strconv.FormatInt(locklog.MaxTime, 10))
		}
	}
	return s
}

// corpusSchema is the JSON Schema of a line of the index of a corpus: the first, or one of the others.
func corpusSchema(describe func(typ, field string) string) *jsonschema.Schema {
	s := report.SchemaOf(&struct {
		Index corpus.Index
		Entry corpus.Entry
	}{}, "Lines", func(typ, field string) string {
		if typ == "Lines" {
			return ""
		}
		return describe(typ, field)
	}, jsonschema.Reflector{})
	s.Title = "redlock-sim corpus: one line of index.jsonl"
	s.Properties, s.Required, s.Type, s.AdditionalProperties = nil, nil, "", nil
	s.OneOf = []*jsonschema.Schema{{Ref: "#/$defs/Index"}, {Ref: "#/$defs/Entry"}}
	for _, d := range s.Definitions {
		d.AdditionalProperties = jsonschema.FalseSchema
	}
	index, entry := s.Definitions["Index"].Properties, s.Definitions["Entry"].Properties
	index.Value("format").Const, index.Value("version").Const = corpus.Format, corpus.Version
	for _, source := range corpus.Sources() {
		entry.Value("source").Enum = append(entry.Value("source").Enum, source)
	}
	for _, kind := range corpus.Kinds() {
		k := s.Definitions["Damage"].Properties.Value("kind")
		k.Enum = append(k.Enum, kind)
	}
	return s
}

var pageLink = regexp.MustCompile(`\[(.*?)\]\(.*?\)`)

// meaning says what a field of a type means, from the tables of the first page that has it.
func meaning(pages ...string) func(typ, field string) string {
	return func(typ, field string) string {
		for _, page := range pages {
			if text := fieldMeanings(page)[typ+"."+field]; text != "" {
				return text
			}
		}
		return ""
	}
}

// fieldMeanings are the rows of the page's tables: what a field of a type means. The heading
// above a table names the type, as "Variant": "## Variants (`Variant`)".
func fieldMeanings(page string) map[string]string {
	meanings := make(map[string]string)
	typ := ""
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if _, name, ok := strings.Cut(line, "(`"); ok && strings.HasPrefix(line, "## ") {
			typ = strings.TrimSuffix(name, "`)")
		}
		if cells := strings.Split(line, " | "); len(cells) == 2 && typ != "" && strings.HasPrefix(line, "| `") {
			meaning := pageLink.ReplaceAllString(strings.NewReplacer("`", "", " |", "").Replace(cells[1]), "$1")
			for field := range strings.SplitSeq(strings.Trim(cells[0], "| "), ", ") {
				meanings[typ+"."+strings.Trim(field, "`")] = meaning
			}
		}
	}
	return meanings
}
