import type { Diplomat } from '@spock/client';
import { expect, it } from 'vitest';

import { type DiscoveryOptions, splitOptions } from './agent-options.ts';
import { DiscoveryAgent } from './discovery-agent.ts';
import { discoveryLookup } from './discovery-lookup.ts';

const diplomat = { acquire: () => undefined } as unknown as Diplomat;

it('keeps connections, and gives Node what is not its own', () => {
	const { settings, agentOptions } = splitOptions({ diplomat, maxSockets: 3, suffix: '.mesh', keepHost: true });
	expect(agentOptions).toEqual({ keepAlive: true, maxSockets: 3, agentKeepAliveTimeoutBuffer: 1000 });
	expect(settings).toMatchObject({ keepHost: true, connectRetriesMax: 2, connectTimeoutMs: 5000, idleTimeoutMs: 4000 });
	expect(splitOptions({ diplomat, keepAlive: false }).settings.keepAlive).toBe(false);
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
