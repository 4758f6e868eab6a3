import { expect, it } from 'vitest';

import type { LogMemory } from './foundation/event-log.ts';
import { ServiceMemory } from './service-memory.ts';

it('a part that an earlier checkpoint does not know begins empty, and one that this process has not is left out', () => {
	const restored: string[] = [];
	const part = (name: string): LogMemory => ({
		checkpoint: () => `["${name}"]`,
		restore: (checkpoint) => void restored.push(`${name} ${checkpoint}`),
		replay: () => undefined,
	});
	const memory = new ServiceMemory();
	memory.parts = { producers: part('producers') };
	const earlier = memory.checkpoint();
	memory.parts = { producers: part('producers'), stores: part('stores') };
	memory.restore(earlier);
	expect(restored).toEqual(['producers ["producers"]']);
	const later = memory.checkpoint();
	memory.parts = { producers: part('producers') };
	memory.restore(later);
	expect(restored).toEqual(['producers ["producers"]', 'producers ["producers"]']);
});
