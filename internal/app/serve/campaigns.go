package serve

import (
	"fmt"
	"net/http"
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
	// Facts are what is known of it, Violated the classes of violations and how many runs have each.
	Facts, Violated []CampaignFact
	// Points are how behaviours grew, the oldest first.
	Points []CampaignPoint
}

// CampaignFact is a name and a value.
type CampaignFact struct{ Name, Value string }

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
}

// growth is a picture of how behaviours grew.
type growth struct {
	Width, Height int
	// Line are the corners of the line, as SVG has them.
	Line string
	// Most is where the line ends, After when.
	Most  int64
	After string
	// Half is how many there were in the middle of that time.
	Half     int64
	HalfTime string
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
		p.Campaigns = append(p.Campaigns, campaignPart{c, growthOf(c.Points)})
	}
	return h.render(w, http.StatusOK, "campaigns.tmpl", p)
}

// growthOf draws the points; nil: there are too few.
func growthOf(points []CampaignPoint) *growth {
	if len(points) < 2 {
		return nil
	}
	last := points[len(points)-1]
	g := &growth{Width: 600, Height: 120, Most: last.Behaviours, After: last.After.Round(time.Second).String()}
	var line strings.Builder
	fmt.Fprintf(&line, "0,%d", g.Height)
	for _, p := range points {
		if 2*p.After <= last.After {
			g.Half, g.HalfTime = p.Behaviours, p.After.Round(time.Second).String()
		}
		x := float64(g.Width) * float64(p.After) / float64(max(last.After, 1))
		y := float64(g.Height) * (1 - float64(p.Behaviours)/float64(max(last.Behaviours, 1)))
		fmt.Fprintf(&line, " %.1f,%.1f", min(max(x, 0), float64(g.Width)), min(max(y, 0), float64(g.Height)))
	}
	g.Line = line.String()
	return g
}
