fn main() {
    println!("{}", sample::add(1, 2));
}
