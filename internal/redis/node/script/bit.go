package script

import (
	"fmt"
	"math"
	"math/bits"

	lua "github.com/yuin/gopher-lua"
)

// bit is the library of that name.
func (m *machine) bit() *lua.LTable {
	one := func(f func(a uint32) uint32) lua.LGFunction {
		return func(l *lua.LState) int { return pushBits(l, f(bitsOf(l, 1))) }
	}
	fold := func(f func(a, b uint32) uint32) lua.LGFunction {
		return func(l *lua.LState) int {
			a := bitsOf(l, 1)
			for i := 2; i <= l.GetTop(); i++ {
				a = f(a, bitsOf(l, i))
			}
			return pushBits(l, a)
		}
	}
	shift := func(f func(a uint32, by int) uint32) lua.LGFunction {
		return func(l *lua.LState) int { return pushBits(l, f(bitsOf(l, 1), int(bitsOf(l, 2)&31))) }
	}
	t := m.NewTable()
	m.functionsOf(t, map[string]lua.LGFunction{
		"tobit":   one(func(a uint32) uint32 { return a }),
		"bnot":    one(func(a uint32) uint32 { return ^a }),
		"bswap":   one(bits.ReverseBytes32),
		"band":    fold(func(a, b uint32) uint32 { return a & b }),
		"bor":     fold(func(a, b uint32) uint32 { return a | b }),
		"bxor":    fold(func(a, b uint32) uint32 { return a ^ b }),
		"lshift":  shift(func(a uint32, by int) uint32 { return a << by }),
		"rshift":  shift(func(a uint32, by int) uint32 { return a >> by }),
		"arshift": shift(func(a uint32, by int) uint32 { return uint32(int32(a) >> by) }),
		"rol":     shift(bits.RotateLeft32),
		"ror":     shift(func(a uint32, by int) uint32 { return bits.RotateLeft32(a, -by) }),
		"tohex": func(l *lua.LState) int {
			a, n := bitsOf(l, 1), int64(8)
			if l.GetTop() > 1 {
				n = int64(int32(bitsOf(l, 2)))
			}
			verb := "%08x"
			if n < 0 {
				verb, n = "%08X", -n
			}
			s := fmt.Sprintf(verb, a)
			l.Push(lua.LString(s[8-min(n, 8):]))
			return 1
		},
	})
	return t
}

// bitsOf is an argument as 32 bits, rounded to the nearest integer.
func bitsOf(l *lua.LState, i int) uint32 {
	return uint32(int64(math.RoundToEven(float64(l.CheckNumber(i)))))
}

func pushBits(l *lua.LState, a uint32) int {
	l.Push(lua.LNumber(int32(a)))
	return 1
}
