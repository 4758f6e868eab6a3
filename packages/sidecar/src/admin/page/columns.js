import { element } from './dom.js';

const OPPOSITE = { ascending: 'descending', descending: 'ascending' };
const compare = (left, right) => (left < right ? -1 : left > right ? 1 : 0);

/**
 * The head of a table whose columns can be sorted by a click. Of each column `by` gives what it is sorted by, `first` how it is sorted
 * when it is chosen; equal rows are in the order of the first column. `changed` is called when another order was chosen.
 */
export class SortedColumns {
	#row;
	#columns;
	#column;
	#order;

	constructor(table, columns, { column, changed }) {
		this.#row = table.tHead.rows[0];
		this.#columns = columns;
		this.#column = column;
		this.#order = column.first;
		for (const each of columns) {
			const button = element('button', { type: 'button', title: each.title }, each.name);
			button.addEventListener('click', () => {
				this.#order = this.#column === each ? OPPOSITE[this.#order] : each.first;
				this.#column = each;
				this.#show();
				changed();
			});
			const words = [each.number && 'number', each.optional && 'optional'].filter(Boolean).join(' ');
			this.#row.append(element('th', { scope: 'col', class: words || undefined }, button));
		}
		this.#show();
	}

	/** Sorts a list in place. */
	sort(list) {
		const { by } = this.#column;
		const direction = this.#order === 'ascending' ? 1 : -1;
		const byFirst = this.#columns[0].by;
		list.sort((left, right) => compare(by(left), by(right)) * direction || compare(byFirst(left), byFirst(right)));
	}

	#show() {
		for (const [index, cell] of [...this.#row.cells].entries()) {
			if (this.#columns[index] === this.#column) cell.setAttribute('aria-sort', this.#order);
			else cell.removeAttribute('aria-sort');
		}
	}
}
