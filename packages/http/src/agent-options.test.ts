import type { Diplomat } from '@spock/client';
import { expect, it } from 'vitest';

import { type DiscoveryOptions, splitOptions } from './agent-options.ts';
import { DiscoveryAgent, DiscoveryHttpsAgent } from './discovery-agent.ts';
import { discoveryLookup } from './discovery-lookup.ts';

const diplomat = { acquire: () => undefined } as unknown as Diplomat;

it('keeps connections, and gives Node what is not its own', () => {
	const { settings, agentOptions } = splitOptions({ diplomat, maxSockets: 3, suffix: '.mesh', keepHost: true });
	expect(agentOptions).toEqual({ keepAlive: true, maxSockets: 3, agentKeepAliveTimeoutBuffer: 1000 });
	expect(settings).toMatchObject({ keepHost: true, connectRetriesMax: 2, connectTimeoutMs: 5000, idleTimeoutMs: 4000 });
	expect(splitOptions({ diplomat, keepAlive: false }).settings.keepAlive).toBe(false);
});

it('says what must be given where nothing was, and what was forgotten', () => {
	const forgotten = { diplomat: Promise.resolve(diplomat) } as unknown as DiscoveryOptions;
	for (const Agent of [DiscoveryAgent, DiscoveryHttpsAgent]) {
		for (const nothing of [undefined, null, 'web']) {
			expect(() => Reflect.construct(Agent, [nothing])).toThrow('options are required: { diplomat }');
		}
		expect(() => new Agent(forgotten)).toThrow('diplomat must be a Diplomat from connect');
		expect(() => new Agent(forgotten)).toThrow('await it first');
	}
	for (const nothing of [undefined, null, 'web']) {
		expect(() => Reflect.apply(discoveryLookup, undefined, [nothing])).toThrow('expected an object with diplomat');
	}
	expect(() => discoveryLookup(forgotten)).toThrow('await it first');
});

it('refuses unknown members where they are ours alone', () => {
	const misspelt = { diplomat, sufix: '.mesh' } as DiscoveryOptions;
	expect(() => discoveryLookup(misspelt)).toThrow('unknown option "sufix"; did you mean "suffix"?');
	// Of the agents it may be an option of Node's.
	expect(splitOptions(misspelt).agentOptions).toHaveProperty('sufix');
	const options = { diplomat, query: { tag: ['v1'] } } as unknown as DiscoveryOptions;
	for (const make of [() => new DiscoveryAgent(options), () => discoveryLookup(options)]) {
		expect(make).toThrow('unknown member of query "tag"; did you mean "tags"?');
	}
});

it.each([
	['diplomat', undefined],
	['diplomat', {}],
	['suffix', 'spock'],
	['keepHost', 'yes'],
	['servername', 5],
	['connectRetriesMax', -1],
	['connectTimeoutMs', 0],
	['idleTimeoutMs', 0.5],
	['agentKeepAliveTimeoutBuffer', -1],
	['isFailure', 503],
] as const)('a wrong %s is named: %s', (name, value) => {
	const options = { diplomat, [name]: value } as unknown as DiscoveryOptions;
	expect(() => new DiscoveryAgent(options)).toThrow(name);
	if (name === 'diplomat' || name === 'suffix') expect(() => discoveryLookup(options)).toThrow(name);
});
