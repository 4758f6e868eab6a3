/** What happens in one cell of a state table: the next state, and the actions to take, in order. */
export type Cell<State extends string, Action extends string> =
	| readonly [next: State, ...actions: Action[]]
	/** Nothing happens. */
	| null;

/** A whole state machine as data: a row for each state. An event that is left out of a row does nothing in that state. */
export type MachineTable<State extends string, Event extends string, Action extends string> = {
	readonly [S in State]: { readonly [E in Event]?: Cell<State, Action> };
};

/** The outcome of one event. */
export interface Step<State extends string, Action extends string> {
	readonly state: State;
	readonly actions: readonly Action[];
}

/** What an event does in a state. Without a cell the state stays and nothing is done. */
export function step<State extends string, Event extends string, Action extends string>(
	table: MachineTable<State, Event, Action>,
	state: State,
	event: Event,
): Step<State, Action> {
	const cell = table[state][event] ?? null;
	if (cell === null) return { state, actions: [] };
	return { state: cell[0], actions: cell.slice(1) as Action[] };
}

/** The table as Markdown, events down and states across: docs/ARCHITECTURE.md holds its output and CI compares. */
export function printMachine<State extends string, Event extends string, Action extends string>(
	table: MachineTable<State, Event, Action>,
): string {
	const states = Object.keys(table) as State[];
	const rows = eventsOf(table).map((event) => {
		const cells = states.map((state) => {
			const cell = table[state][event] ?? null;
			if (cell === null) return '·';
			const [next, ...actions] = cell;
			return actions.length === 0 ? next : `${next}: ${actions.join(', ')}`;
		});
		return `| ${event} | ${cells.join(' | ')} |`;
	});
	return [`| | ${states.join(' | ')} |`, `|---|${'---|'.repeat(states.length)}`, ...rows].join('\n');
}

/** Every event of the table, each before those that follow it in a row. */
function eventsOf<State extends string, Event extends string, Action extends string>(
	table: MachineTable<State, Event, Action>,
): Event[] {
	const events: Event[] = [];
	for (const row of Object.values<object>(table)) {
		let place = events.length;
		for (const event of (Object.keys(row) as Event[]).reverse()) {
			const known = events.indexOf(event);
			if (known === -1) events.splice(place, 0, event);
			else place = known;
		}
	}
	return events;
}
