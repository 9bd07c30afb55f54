package machine

import "os/exec"

// FindBrowser is the path of Chromium or Chrome; empty: neither is there.
func FindBrowser() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}
