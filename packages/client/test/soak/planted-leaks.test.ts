import { expect, it } from 'vitest';

import { injectionOf, plantedLeaks } from './planted-leaks.ts';

it('a leak is planted by its name; one that is unknown is an error that says which there are', () => {
	for (const { name, injection } of plantedLeaks) expect(injectionOf(name)).toBe(injection);
	expect(injectionOf(undefined)).toEqual({});
	expect(() => injectionOf('a drip')).toThrow(/unknown leak "a drip"; expected one of: a listener: /);
});
