import { type BarSection, drawBarChart } from '../report/bar-chart.ts';
import { formatNumber, formatTick } from '../report/format-number.ts';
import { speedOf } from './table/table-goals.ts';
import { type EventsResults, PARTS, type PartId, ROWS } from './table/table-results.ts';

const HEADINGS: Readonly<Record<PartId, string>> = {
	model: 'A disk of 2.85 ms a sync, and 22.3 MB/s on the way to it',
	unlimited: 'The same disk, and no limit of bytes',
	slow: 'The same disk, and a link of 40 Mbit/s',
	own: 'The disk of this machine, and no limit of bytes',
};

/** Messages a second by row, for each part. */
export function drawEventsTable(results: EventsResults): string {
	const { machine, node, takenAt, quick } = results;
	const parts = [
		`${machine.processor}, ${machine.cores} cores`,
		`Node ${node.replace(/^v/, '')}`,
		takenAt.slice(0, 10),
	];
	return drawBarChart({
		title: 'Messages to a store: grpc-js and Spock',
		note: 'MB of messages a second, as the app has them. Longer is better.',
		subtitle: [...parts, ...(quick ? ['quick run'] : [])].join(' · '),
		legend: [
			{ label: 'this project', tones: ['product'] },
			{ label: 'grpc-js, as the original', tones: ['peer'] },
		],
		sections: (Object.keys(PARTS) as PartId[]).map((part) => sectionOf(results, part)),
	});
}

function sectionOf(results: EventsResults, part: PartId): BarSection {
	const rows = PARTS[part].rows.map((row) => {
		const accent = row.startsWith('events');
		const speed = speedOf(results, part, row);
		const value = Number.isNaN(speed) ? undefined : speed;
		return {
			label: ROWS[row],
			accent,
			bars: [{ parts: [{ value, tone: accent ? ('product' as const) : ('peer' as const) }] }],
		};
	});
	const panels = [{ heading: HEADINGS[part], rows }];
	return { axisLabel: 'MB/s', scale: 'linear', format: (value) => `${formatNumber(value)} MB/s`, formatTick, panels };
}
