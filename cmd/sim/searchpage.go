package main

import (
	"fmt"
	"strings"

	"github.com/kballard/go-shellquote"

	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// where says where runs are made.
var where = map[string]string{trial.Virtual: "in the virtual world", trial.Live: "among real servers"}

// searchPage is what came of a search, as a page shows it.
func searchPage(search explore.Search, f searchFlags, r explore.Report, kept []found) (page report.Rates, err error) {
	page = report.Rates{
		Heading: search.Scenario.Name + ": a search", Live: f.world == trial.Live,
		Lead: fmt.Sprintf("Variant %s: %s %s, %s. The shares are those of the %s drawn afresh.",
			search.Variant, words.Count(r.Runs, "run"), where[f.world],
			words.Count(r.Behaviours, "distinct behaviour"), words.Count(r.Drawn, "schedule")),
		Replay: searchAgain(search, f, r.Runs),
	}
	switch {
	case lostMany(&r):
		page.Lead += " " + untold(search.Properties, &r) + "."
	case len(r.Classes) == 0:
		page.Lead += " Nothing was found. " + strings.Join(worth(search.Properties, &r), ". ") + "."
	}
	for _, c := range r.Classes {
		page.Classes = append(page.Classes, report.RateLine{Name: c.Name, Rate: shareOf(c, &r)})
	}
	for _, k := range kept {
		item := report.FoundScenario{Path: k.file, Note: k.note}
		if item.Link, err = linkFrom(f.html, k.file); err != nil {
			return page, err
		}
		if k.report != "" {
			if item.Report, err = linkFrom(f.html, k.report); err != nil {
				return page, err
			}
		}
		page.Found = append(page.Found, item)
	}
	return page, nil
}

// searchAgain is the command that makes the same runs again.
func searchAgain(search explore.Search, f searchFlags, runs uint64) string {
	list := append(f.command(search), "--property", strings.Join(wordsOf(search.Properties), ","), "--seed", fmt.Sprint(f.first))
	if f.campaign != nil {
		list = append(append(list, "--runs", fmt.Sprint(f.seeds)), f.campaign...)
	} else {
		list = append(list, "--seeds", fmt.Sprint(runs), "--for", "0s")
	}
	if len(f.kinds) > 0 {
		list = append(list, "--kinds", strings.Join(f.kinds, ","))
	}
	if f.bare {
		list = append(list, "--bare")
	}
	if f.unguided {
		list = append(list, "--unguided")
	}
	return shellquote.Join(list...)
}
