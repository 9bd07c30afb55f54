package serve

import (
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"
)

// Campaign is a campaign as its page shows it.
type Campaign struct {
	ID            int64
	Name, Variant string
	// State is its state in a word; Running: it goes on.
	State   string
	Running bool
	// Facts are what is known of it.
	Facts []CampaignFact
	// Violated are the classes of violations, the commonest first.
	Violated []CampaignClass
	// Points are how behaviours grew, the oldest first.
	Points []CampaignPoint
}

// CampaignFact is a name and a value.
type CampaignFact struct{ Name, Value string }

// CampaignClass is a class of violations, and how many runs have it: in words, with what share of all that is.
type CampaignClass struct {
	Name, Runs, Share string
	// Found are what sim campaign report calls the scenarios of it.
	Found []string
}

// CampaignPoint is how many behaviours there were after some time.
type CampaignPoint struct {
	After      time.Duration
	Behaviours int64
}

// campaignsPage lists campaigns.
type campaignsPage struct {
	Running   bool
	Campaigns []campaignPart
}

type campaignPart struct {
	Campaign
	Picture *growth
	Classes []classRow
}

// classRow is a class of violations with links to what was found of it, of what lies in the folder.
type classRow struct {
	CampaignClass
	Links []groupLink
}

// growth is a picture of how behaviours grew.
type growth struct {
	Width, Height int
	// Line are the corners of the line, as SVG has them.
	Line string
	// Most is where the line ends, After when. Mid and Middle are in the middle of the axes.
	Most, Mid     int64
	After, Middle string
}

// campaigns shows the campaigns of a database. Whoever asks gets what the database has now.
func (h *Handler) campaigns(w http.ResponseWriter, r *http.Request) error {
	list, err := h.o.Campaigns(r.Context())
	if err != nil {
		return fmt.Errorf("failed to look at the campaigns: %w", err)
	}
	p := campaignsPage{}
	for _, c := range list {
		p.Running = p.Running || c.Running
		p.Campaigns = append(p.Campaigns, campaignPart{c, growthOf(c.Points), h.classes(c.Violated)})
	}
	return h.render(w, http.StatusOK, "campaigns.tmpl", p)
}

// classes leads to what was found of each class, where the folder has it.
func (h *Handler) classes(violated []CampaignClass) (rows []classRow) {
	for _, c := range violated {
		row := classRow{CampaignClass: c}
		for _, name := range c.Found {
			if newest := h.newestFolders(path.Join(found, name)); plainName(name) && len(newest) > 0 {
				row.Links = append(row.Links, groupLink{Link: runID{found, name, newest[0]}.link(), Text: name})
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// growthOf draws the points; nil: there are too few.
func growthOf(points []CampaignPoint) *growth {
	if len(points) < 2 {
		return nil
	}
	last := points[len(points)-1]
	g := &growth{Width: 600, Height: 120, Most: last.Behaviours, Mid: last.Behaviours / 2, After: last.After.Round(time.Second).String(),
		Middle: (last.After / 2).Round(time.Second).String()}
	var line strings.Builder
	fmt.Fprintf(&line, "0,%d", g.Height)
	for _, p := range points {
		x := float64(g.Width) * float64(p.After) / float64(max(last.After, 1))
		y := float64(g.Height) * (1 - float64(p.Behaviours)/float64(max(last.Behaviours, 1)))
		fmt.Fprintf(&line, " %.1f,%.1f", min(max(x, 0), float64(g.Width)), min(max(y, 0), float64(g.Height)))
	}
	g.Line = line.String()
	return g
}
