import { SpockError } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { FakeRegistrar } from '../../test/fake-registrar.ts';
import type { DiscoveryEvent } from '../foundation/discovery-event.ts';
import type { InstanceDefinition, InstanceHealth } from '../foundation/registrar.ts';
import { Registrations } from './registrations.ts';

/** A registry of several nodes: the instance is at one of them, until that is lost. */
class MovingRegistrar extends FakeRegistrar {
	node = 'one';
	#lost: (id: string) => void = () => undefined;
	#isLost = false;

	onLost(listener: (id: string) => void): () => void {
		this.#lost = listener;
		return () => {
			this.#lost = () => undefined;
		};
	}

	moveTo(node: string): void {
		this.node = node;
		this.#isLost = true;
		this.#lost('b1');
	}

	override async register(definition: InstanceDefinition, health: InstanceHealth): Promise<string> {
		await super.register(definition, health);
		this.#isLost = false;
		return `${this.node}/${definition.id}`;
	}

	override async report(id: string, health: InstanceHealth): Promise<void> {
		if (this.#isLost) throw new SpockError('NO_SUCH_SERVICE', 'its node has failed');
		await super.report(id, health);
	}
}

describe('a registration whose node has failed', () => {
	it('is written elsewhere at once, with an event, and its app and its end know it by its new name', async () => {
		const registrar = new MovingRegistrar();
		const events: DiscoveryEvent[] = [];
		const registrations = new Registrations({ registrar, owner: 'pod', onEvent: (event) => events.push(event) });
		const told: unknown[] = [];
		const app = {
			told: ({ state, instance }: { state: string; instance: string | null }) => told.push([state, instance]),
		};
		const data = { service: 'barista', id: 'b1', port: 80 };
		expect(await registrations.claim(data, app)).toMatchObject({ instance: 'one/b1' });
		registrar.moveTo('two');
		await new Promise((resolve) => setImmediate(resolve));
		expect(events.filter(({ type }) => type === 'registration-moved')).toEqual([
			{ type: 'registration-moved', id: 'b1', service: 'barista', from: 'one/b1', to: 'two/b1' },
		]);
		expect(told.at(-1)).toEqual(['registered', 'two/b1']);
		expect(registrations.list()).toMatchObject([{ instance: 'two/b1' }]);
		await registrations.drain();
		// Readers here need not hold the empty answer: this is what they have.
		expect(events).toContainEqual(expect.objectContaining({ phase: 'leaving', instance: 'two/b1' }));
		registrations.close();
	});

	it('is left alone once the registrations are closed', async () => {
		const registrar = new MovingRegistrar();
		const registrations = new Registrations({ registrar, owner: 'pod' });
		await registrations.claim({ service: 'barista', id: 'b1', port: 80 }, { told: () => undefined });
		registrations.close();
		registrar.moveTo('two');
		await new Promise((resolve) => setImmediate(resolve));
		expect(registrar.writes).toEqual(['register b1 passing']);
	});
});
