// Reads histories of single reviews, one JSON object a line, and says of each whether some order of its operations explains every answer
// (docs/architecture/reviews.md#decisions). The model is what one review is: votes, one end, two notes.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

type input struct {
	Kind     string `json:"kind"` // see history.ts
	Subject  string `json:"subject"`
	Request  string `json:"request"`
	Value    string `json:"value"`
	Required int    `json:"required"`
}

type output struct {
	Known     bool     `json:"known"`
	Refused   string   `json:"refused"` // the code of a 4xx
	Status    string   `json:"status"`
	By        string   `json:"by"`
	Approvals []string `json:"approvals"`
	Assigned  string   `json:"assigned"`
	Incident  string   `json:"incident"`
}

type operation struct {
	Client int    `json:"client"`
	Call   int64  `json:"call"`
	Return *int64 `json:"return"`
	Input  input  `json:"input"`
	Output output `json:"output"`
}

type history struct {
	ID         string      `json:"id"`
	Operations []operation `json:"operations"`
}

type state struct {
	Status, By, Request string
	// Who has approved: sorted, with commas.
	Votes string
	// Somebody was told how it ended: from then on every reader is.
	Shown              bool
	Assigned, Incident string
}

func (s state) votes() []string {
	if s.Votes == "" {
		return nil
	}
	return strings.Split(s.Votes, ",")
}

func (s state) voted(subject string) state {
	votes := s.votes()
	if !slices.Contains(votes, subject) {
		votes = append(votes, subject)
	}
	slices.Sort(votes)
	s.Votes = strings.Join(votes, ",")
	return s
}

func (s state) settled(status string, in input) state {
	s.Status, s.By, s.Request = status, in.Subject, in.Request
	return s
}

func (s state) shown() state {
	s.Shown = true
	return s
}

// What the operation does to a review that waits.
func effects(s state, in input) []state {
	if in.Kind == "assign" {
		s.Assigned = in.Value
		return []state{s}
	}
	if in.Kind == "incident" {
		s.Incident = in.Value
		return []state{s}
	}
	if s.Status != "pending" {
		return nil
	}
	switch in.Kind {
	case "approve":
		voted := s.voted(in.Subject)
		if len(voted.votes()) < in.Required {
			return []state{voted}
		}
		return []state{voted.settled("approved", in)}
	case "modify":
		// Judged again, a changed call may be denied.
		return []state{s.voted(in.Subject).settled("approved", in), s.settled("denied", in)}
	case "deny":
		return []state{s.settled("denied", in)}
	case "expire":
		s.Status = "expired"
		return []state{s}
	}
	return nil
}

func step(s state, in input, out output) []state {
	if !out.Known {
		return append([]state{s}, effects(s, in)...)
	}
	switch in.Kind {
	case "read", "final":
		return read(s, in, out)
	case "link":
		// Like a reader; but past its deadline a link leads nowhere although the row may still say that it waits.
		if out.Status == "pending" {
			return when(s.Status == "pending" || !s.Shown, s)
		}
		return when(s.Status != "pending", s)
	case "end":
		return when(s.Status == out.Status && (out.By == "" || out.By == s.By), s.shown())
	case "assign", "incident":
		if out.Refused != "" {
			return []state{s}
		}
		return effects(s, in)
	}
	switch out.Refused {
	case "":
	case "already_decided", "not_pending":
		return when(s.Status != "pending", s)
	case "pending_expired":
		return when(s.Status == "expired", s)
	default:
		return []state{s}
	}
	var next []state
	if out.Status == "counted" {
		return append(effects(s, in), when(slices.Contains(s.votes(), in.Subject), s)...)
	}
	for _, after := range effects(s, in) {
		if after.Status == out.Status {
			if after.Status != "pending" {
				after = after.shown()
			}
			next = append(next, after)
		}
	}
	// The answer to an earlier decision of the same person, given again.
	again := s.By == in.Subject && s.Request == in.Request
	oneOfThem := in.Kind == "approve" && slices.Contains(s.votes(), in.Subject)
	if s.Status == out.Status && s.Status != "pending" && (again || oneOfThem) {
		next = append(next, s.shown())
	}
	if out.Status == "pending" && oneOfThem && !s.Shown {
		next = append(next, s)
	}
	return next
}

func read(s state, in input, out output) []state {
	for _, by := range out.Approvals {
		if !slices.Contains(s.votes(), by) {
			return nil
		}
	}
	if out.Assigned != s.Assigned || out.Incident != s.Incident {
		return nil
	}
	if out.Status == "pending" {
		// HIL's row may be behind its call while nobody has been told how it ended.
		return when(in.Kind == "read" && (s.Status == "pending" || !s.Shown), s)
	}
	decided := s.Status == "approved" || s.Status == "denied"
	enough := s.Status != "approved" || in.Required <= 1 || len(out.Approvals) >= in.Required
	return when(out.Status == s.Status && (!decided || out.By == s.By) && enough, s.shown())
}

func when(holds bool, s state) []state {
	if holds {
		return []state{s}
	}
	return nil
}

var model = (&porcupine.NondeterministicModel{
	Init: func() []interface{} { return []interface{}{state{Status: "pending"}} },
	Step: func(s, in, out interface{}) []interface{} {
		var next []interface{}
		for _, after := range step(s.(state), in.(input), out.(output)) {
			next = append(next, after)
		}
		return next
	},
	Equal: func(one, other interface{}) bool { return one == other },
}).ToModel()

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<26)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var h history
		if err := json.Unmarshal(lines.Bytes(), &h); err != nil {
			fmt.Fprintln(os.Stderr, "not a history:", err)
			os.Exit(2)
		}
		operations := make([]porcupine.Operation, len(h.Operations))
		for i, o := range h.Operations {
			ends := int64(math.MaxInt64)
			if o.Return != nil {
				ends = *o.Return
			}
			operations[i] = porcupine.Operation{ClientId: o.Client, Input: o.Input, Call: o.Call, Output: o.Output, Return: ends}
		}
		result := porcupine.CheckOperationsTimeout(model, operations, 20*time.Second)
		if err := answers.Encode(map[string]string{"id": h.ID, "result": string(result)}); err != nil {
			os.Exit(2)
		}
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}
