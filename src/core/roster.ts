/**
 * Members that come and go with every request, such as the requests in flight.
 *
 * Not a Map or a Set: V8 replaces the table of one about each time that as many members have left
 * as are in it, and the old table keeps a reference to the new one. A table that reached the old
 * generation so keeps all later tables, and all that their members refer to, until the next full
 * collection. Every request would be copied to the old generation: with 64 connections that took
 * a fifth of the CPU.
 */
export class Roster<Member extends object> {
  readonly #members: (Member | undefined)[] = [];
  readonly #freePlaces: number[] = [];

  get size(): number {
    return this.#members.length - this.#freePlaces.length;
  }

  /** Adds a member. Returns its place: a small integer, given to another once it is removed. */
  add(member: Member): number {
    const place = this.#freePlaces.pop() ?? this.#members.length;
    this.#members[place] = member;
    return place;
  }

  /** The member at a place, if there is one. */
  at(place: number): Member | undefined {
    return this.#members[place];
  }

  /** Removes the member at a place. Call it once for each member. */
  remove(place: number): void {
    this.#members[place] = undefined;
    this.#freePlaces.push(place);
  }

  /** The members, in no particular order. */
  members(): Member[] {
    return this.#members.filter((member) => member !== undefined);
  }
}
