package scenario

// namesOf are the words for the items of a list.
func namesOf[T any](items []T, name func(T) string) []string {
	list := make([]string, len(items))
	for i, item := range items {
		list[i] = name(item)
	}
	return list
}

func names(n int, name func(int) string) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = name(i)
	}
	return list
}
