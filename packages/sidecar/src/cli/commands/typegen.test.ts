import ts from 'typescript';
import { describe, expect, it } from 'vitest';

import { differenceOf, serviceMapModule } from './typegen.ts';

/** What the module's map is when it runs. */
function mapOf(module: string): Record<string, string> {
	const script = ts.transpile(module, { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2023 });
	const exports: { services: Record<string, string> } = { services: {} };
	new Function('exports', script)(exports);
	return exports.services;
}

describe('the module of a map of services', () => {
	it('is this text', () => {
		expect(serviceMapModule(['order-desk', 'barista'], '../services.json')).toBe(
			`// Made by \`sidecar typegen\` from ../services.json. Do not edit it: make it again.

/** Every service that there is, by its name. */
export const services = {
	barista: 'barista',
	'order-desk': 'order-desk',
} as const;

/** The name of a service that there is. */
export type ServiceName = (typeof services)[keyof typeof services];

declare module '@spock/client' {
	// From here on a Diplomat that is asked for any other name does not compile.
	interface KnownServices extends Record<ServiceName, true> {}
}
`,
		);
	});

	it('is the same whatever the order and the number of the names', () => {
		expect(serviceMapModule(['b', 'a', 'C', 'b'], 'f')).toBe(serviceMapModule(['C', 'b', 'a'], 'f'));
	});

	const strange = [
		...['default', 'constructor', '__proto__', 'toString', '$a_1', '1', '-1', 'a b', 'a.b', 'ü'],
		...["it's", 'say "hi"', 'back\\slash', 'a\nb', '*/', '// x', '\u2028', '\ud800', '🖖', '</script>'],
	];

	it('has every name as it is, whatever stands in it', () => {
		const map = mapOf(serviceMapModule(strange, 'f'));
		expect(Object.keys(map).sort()).toEqual([...strange].sort());
		for (const name of strange) expect(Object.getOwnPropertyDescriptor(map, name)?.value).toBe(name);
	});

	it('says where it is from in one line, whatever the path', () => {
		const [first, second] = serviceMapModule(['a'], 'a\nexport\rb').split('\n');
		expect(first).toContain('from a export b.');
		expect(second).toBe('');
	});
});

describe('the difference between two modules', () => {
	const made = serviceMapModule(['barista', 'till'], 'f');

	it('is none for the same, however its lines end', () => {
		expect(differenceOf(made, made)).toBeUndefined();
		expect(differenceOf(made.replaceAll('\n', '\r\n'), made)).toBeUndefined();
	});

	it('shows what goes and what comes', () => {
		const before = serviceMapModule(['barista', 'tills'], 'f');
		expect(differenceOf(before, made)).toBe("- \ttills: 'tills',\n+ \ttill: 'till',");
		expect(differenceOf(`${made}\n`, made)).toBe('the same lines, in another order or number');
	});

	it('is not longer than one can read', () => {
		const names = Array.from({ length: 100 }, (_, index) => `service${index}`);
		const shown = differenceOf(made, serviceMapModule([...names, 'till', 'barista'], 'f'))?.split('\n');
		expect(shown).toHaveLength(21);
		expect(shown?.at(-1)).toBe('… and 80 more lines');
	});
});
