package corpus

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// Answer is what another checker says: a line of a file of answers.
type Answer struct {
	ID string `json:"id"`
	// About is a property or a model; empty: the file as a whole, which Refused is about.
	About   string `json:"about,omitempty"`
	Verdict string `json:"verdict"`
}

// Score is how the answers of another checker compare with the labels.
type Score struct {
	Labels int `json:"labels"`
	Right  int `json:"right"`
	// FalseAlarms say violated of what is not, Missed say that something holds which is violated. Undecided say unknown of what is known,
	// and Rash say of something that it holds where it cannot be known. NotRefused were read though they are no history, WronglyRefused the
	// other way round.
	FalseAlarms    int `json:"false_alarms"`
	Missed         int `json:"missed"`
	Undecided      int `json:"undecided"`
	Rash           int `json:"rash"`
	NotRefused     int `json:"not_refused"`
	WronglyRefused int `json:"wrongly_refused"`
	NotAnswered    int `json:"not_answered"`
	// Unasked are answers to what has no label.
	Unasked int `json:"unasked"`
	// Wrong are the first of those that are wrong.
	Wrong []Difference `json:"wrong,omitempty"`
}

// mostWrong is how many are shown.
const mostWrong = 1000

// Another is who else answers.
const Another Judge = "the answers"

// ReadAnswers reads answers as JSON Lines.
func ReadAnswers(r io.Reader) (answers map[[2]string]string, err error) {
	answers = make(map[[2]string]string)
	lines := bufio.NewReader(r)
	for line := 1; ; line++ {
		text, whole, err := history.ReadLine(lines)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if !whole && len(text) == 0 {
			return answers, nil
		}
		var a Answer
		if err := decode(text, &a); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		switch a.Verdict {
		case holds, violated, unknown, refused:
		default:
			return nil, fmt.Errorf("line %d: verdict %.40q: want holds, violated, unknown or refused", line, a.Verdict)
		}
		key := [2]string{a.ID, a.About}
		if answers[key] != "" {
			return nil, fmt.Errorf("line %d: there are two answers about %.80q of %.80q", line, a.About, a.ID)
		}
		if len(answers) > 100*MostHistories {
			return nil, errors.New("there are too many answers")
		}
		answers[key] = a.Verdict
	}
}

// Score compares answers with the labels of the corpus.
func (f *Folder) Score(answers map[[2]string]string) (*Score, error) {
	s := &Score{}
	labelled := 0
	err := f.Each(func(e *Entry) error {
		if e.Refused != "" {
			labelled += s.count(e.ID, "", refused, answers)
		}
		for _, l := range e.Properties {
			labelled += s.count(e.ID, string(l.Property), l.Verdict.String(), answers)
		}
		for _, m := range e.Models {
			labelled += s.count(e.ID, m.Model, m.Verdict.String(), answers)
		}
		return nil
	})
	s.Unasked = len(answers) - labelled
	return s, err
}

func (s *Score) count(id, about, label string, answers map[[2]string]string) (answered int) {
	s.Labels++
	said := answers[[2]string{id, about}]
	if said == "" {
		s.NotAnswered++
		return 0
	}
	var kind *int
	switch {
	case said == label:
		s.Right++
		return 1
	case label == refused:
		kind = &s.NotRefused
	case said == refused:
		kind = &s.WronglyRefused
	case said == violated:
		kind = &s.FalseAlarms
	case said == unknown:
		kind = &s.Undecided
	case label == violated:
		kind = &s.Missed
	default: // it says that something holds which is unknown
		kind = &s.Rash
	}
	*kind++
	if len(s.Wrong) < mostWrong {
		s.Wrong = append(s.Wrong, Difference{ID: id, About: about, Judge: Another, Label: label, Says: said})
	}
	return 1
}

// Dangerous reports that something is wrong that a checker must not get wrong.
func (s *Score) Dangerous() bool {
	return s.FalseAlarms+s.Missed+s.Rash+s.NotRefused+s.WronglyRefused > 0
}
