// says: translate_name.cu:4: error: kernel launch: a kernel's name must precede '<<<'
int main()
{
    <<<1, 32>>>(3);
}
