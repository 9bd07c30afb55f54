package live

import "errors"

// chooseHosts decides where the servers run.
func (w *World) chooseHosts() error {
	binary := w.options.Redis
	if binary == "" {
		path, err := FindRedis()
		if err != nil {
			return err
		}
		binary = path
	}
	w.host = processHost{binary}
	w.storeHost = w.host
	return nil
}

// closeHosts undoes what the hosts have done.
func (w *World) closeHosts() error {
	var errs []error
	if w.host != nil {
		errs = append(errs, w.host.close())
	}
	if w.storeHost != nil && w.storeHost != w.host {
		errs = append(errs, w.storeHost.close())
	}
	return errors.Join(errs...)
}
